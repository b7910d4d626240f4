// Mappings that a scan must not touch or swallow: no access, past the end of a file, 64 GiB of untouched reserve.
// Not under Valgrind, which has no room for the reserve in its part of the address space.
// engines: track preload
// memcheck: differs: does not get through the reserve in half a minute
// lsan: differs: does not look into mappings of the program's own
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096 };

static char *map(size_t size, int protection, int flags, int descriptor) {
    char *area = mmap(NULL, size, protection, flags, descriptor, 0);
    if (area == MAP_FAILED)
        exit(1);
    return area;
}

static void set_traps(void) {
    FILE *short_file = tmpfile();
    if (short_file == NULL || ftruncate(fileno(short_file), PAGE) != 0)
        exit(2);
    map(16 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(short_file));
    fclose(short_file);

    map(256 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    map(256 * PAGE, PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    char *reserve = map((size_t)64 << 30, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
    char **far = (char **)(reserve + ((size_t)50 << 30));
    *far = malloc(81);           // forgotten: 1 block, 81 bytes
    reserve = NULL;
    far = NULL;
}

static void lose_row(void) {
    char *row = malloc(82);      // lost: 1 block, 82 bytes
    row[0] = 'r';
    row = NULL;
}

int main(void) {
    set_traps();
    lose_row();
    return 0;
}
