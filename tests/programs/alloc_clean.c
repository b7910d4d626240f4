// Every allocation function of C, used rightly: alignment, zeroing and usable size hold, and nothing is left.
// stdout: 8 buffers, 0 faults
#define _GNU_SOURCE
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int faults;

/* Writes all that the allocator says is usable; a metadata neighbour would not survive it. */
static void exercise(void *block, size_t asked, size_t alignment) {
    size_t usable = malloc_usable_size(block);

    if (block == NULL || usable < asked || (uintptr_t)block % alignment != 0)
        faults++;
    memset(block, 0xff, usable);
}

static int all_zero(const unsigned char *bytes, size_t size) {
    while (size > 0 && *bytes == 0)
        bytes++, size--;
    return size == 0;
}

int main(void) {
    for (int round = 0; round < 50; round++) {
        void *buffers[8] = {0};
        size_t asked[8] = {1, 480, 24, 7000, 640, 4096, 33, 5000};
        size_t alignment[8] = {16, 16, 16, 16, 128, 4096, 64, 4096};

        buffers[0] = malloc(asked[0]);
        buffers[1] = calloc(48, 10);
        buffers[2] = realloc(NULL, asked[2]);
        buffers[3] = reallocarray(NULL, 700, 10);
        buffers[4] = aligned_alloc(alignment[4], asked[4]);
        buffers[5] = memalign(alignment[5], asked[5]);
        if (posix_memalign(&buffers[6], alignment[6], asked[6]) != 0)
            faults++;
        buffers[7] = valloc(asked[7]);
        if (!all_zero(buffers[1], asked[1]))
            faults++;
        for (int i = 0; i < 8; i++)
            exercise(buffers[i], asked[i], alignment[i]);
        for (int i = 7; i >= 0; i--)
            free(buffers[i]);
    }
    free(NULL);
    printf("8 buffers, %d faults\n", faults);
    return faults;
}
