// Programs that tune or ask glibc's allocator keep running when it is replaced.
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

static size_t peak;

static void sample(void) {
    struct mallinfo2 info = mallinfo2();

    if (info.uordblks > peak)
        peak = info.uordblks;
}

int main(void) {
    mallopt(M_MMAP_THRESHOLD, 256 * 1024);
    mallopt(M_ARENA_MAX, 1);
    for (int i = 1; i <= 64; i++) {
        char *frame = malloc((size_t)i * 8192);
        memset(frame, i, (size_t)i * 8192);
        sample();
        free(frame);
    }
    malloc_trim(0);
    return 0;
}
