// Every allocation function of C loses one block: each must be seen, with the size that was asked for.
#define _GNU_SOURCE
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

static size_t filled;

/* Uses a block as an image loader would, and keeps no pointer to it. */
static void fill(void *pixels, size_t size) {
    if (pixels == NULL)
        abort();
    memset(pixels, 0x5a, size);
    filled += size;
}

static void load_images(void) {
    void *aligned = NULL;

    fill(malloc(101), 101);                         // lost: 1 block, 101 bytes
    fill(calloc(3, 34), 102);                       // lost: 1 block, 102 bytes
    fill(realloc(NULL, 103), 103);                  // lost: 1 block, 103 bytes
    fill(realloc(malloc(10), 3000), 3000);          // lost: 1 block, 3000 bytes
    fill(reallocarray(NULL, 8, 13), 104);           // lost: 1 block, 104 bytes
    fill(aligned_alloc(64, 128), 128);              // lost: 1 block, 128 bytes
    fill(memalign(32, 106), 106);                   // lost: 1 block, 106 bytes
    fill(valloc(107), 107);                         // lost: 1 block, 107 bytes
    if (posix_memalign(&aligned, 256, 108) != 0)    // lost: 1 block, 108 bytes
        abort();
    fill(aligned, 108);
    aligned = NULL;
}

int main(void) {
    load_images();
    return filled == 3859 ? 0 : 1;
}
