// cfree, which old binaries still call: where libc has it, it frees like free.
// flags: -ldl
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

typedef void release_fn(void *);

static release_fn *old_release(void) {
    void *symbol = dlsym(RTLD_DEFAULT, "cfree");

    return symbol != NULL ? (release_fn *)symbol : free;
}

int main(void) {
    release_fn *release = old_release();

    for (int i = 1; i < 100; i++) {
        char *row = calloc((size_t)i, 12);
        memset(row, i, (size_t)i * 12);
        release(row);
    }
    char *left = malloc(29);    // lost: 1 block, 29 bytes
    left[0] = 1;
    left = NULL;
    return 0;
}
