// pvalloc rounds up to whole pages: a lost block, and a freed one.
// Not under Valgrind, which ends a program that calls pvalloc.
// engines: track preload
// memcheck: differs: 3.19 ends a program that calls pvalloc
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static int map_pages(size_t size, int keep) {
    char *pages = pvalloc(size);    // lost: 1 block, 8192 bytes
    int aligned = (uintptr_t)pages % 4096 == 0 && malloc_usable_size(pages) >= 4096;

    memset(pages, 1, size);
    if (!keep)
        free(pages);
    pages = NULL;
    return aligned;
}

int main(void) {
    return map_pages(100, 0) && map_pages(8192, 1) ? 0 : 1;
}
