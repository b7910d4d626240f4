// Memory that the program maps itself holds the only pointers: private, shared and file-backed; unmapped, it holds none.
// lsan: differs: does not look into mappings of the program's own
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGES = 8 * 4096 };

static char **map(int flags, int descriptor) {
    void *area = mmap(NULL, PAGES, PROT_READ | PROT_WRITE, flags, descriptor, 0);
    if (area == MAP_FAILED)
        exit(1);
    return area;
}

static void fill(void) {
    FILE *file = tmpfile();
    if (file == NULL || ftruncate(fileno(file), PAGES) != 0)
        exit(2);
    char **private = map(MAP_PRIVATE | MAP_ANONYMOUS, -1);
    char **shared = map(MAP_SHARED | MAP_ANONYMOUS, -1);
    char **backed = map(MAP_SHARED, fileno(file));
    char **gone = map(MAP_PRIVATE | MAP_ANONYMOUS, -1);
    fclose(file);

    private[700] = malloc(21);    // forgotten: 1 block, 21 bytes
    shared[701] = malloc(22);     // forgotten: 1 block, 22 bytes
    backed[702] = malloc(23);     // forgotten: 1 block, 23 bytes
    gone[703] = malloc(24);       // lost: 1 block, 24 bytes
    munmap(gone, PAGES);
    private = shared = backed = gone = NULL;
}

int main(void) {
    fill();
    return 0;
}
