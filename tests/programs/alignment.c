// Alignments up to 1 MiB, small and large sizes, all alive at once; one 64 KiB-aligned block is lost.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { SMALLEST = 8, LARGEST = 1 << 20 };

static unsigned char *page(size_t alignment, size_t size) {
    void *block = NULL;

    if (posix_memalign(&block, alignment, size) != 0 || (uintptr_t)block % alignment != 0)
        abort();
    memset(block, (int)(size & 0xff), size);
    return block;
}

static void lose_table(void) {
    unsigned char *table = aligned_alloc(65536, 131072);    // lost: 1 block, 131072 bytes
    memset(table, 1, 131072);
    table = NULL;
}

int main(void) {
    unsigned char *pages[128];
    int count = 0;

    for (size_t alignment = SMALLEST; alignment <= LARGEST; alignment *= 2)
        for (size_t size = 1; size <= 300000; size *= 23)
            pages[count++] = page(alignment, size);
    lose_table();
    for (int i = 0; i < count; i++)
        free(pages[i]);
    memset(pages, 0, sizeof pages);
    return count == 90 ? 0 : 1;
}
