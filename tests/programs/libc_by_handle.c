// The program asks libc by handle for its allocation functions, as language runtimes do, and mixes them with its own.
// flags: -ldl
// stdout: hello
// lsan: differs: libc's own function aborts
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void) {
    void *libc = dlopen("libc.so.6", RTLD_LAZY);
    void (*release)(void *) = (void (*)(void *))dlsym(libc, "free");
    void *(*obtain)(size_t) = (void *(*)(size_t))dlsym(libc, "malloc");
    char *text = strdup("hello");
    char *copy = obtain(6);

    puts(strcpy(copy, text));
    release(text);
    free(copy);
    char *lost = obtain(34);    // lost: 1 block, 34 bytes
    lost[0] = 0;
    lost = NULL;
    dlclose(libc);
    return 0;
}
