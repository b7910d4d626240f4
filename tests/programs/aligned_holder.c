// A pointer that lies inside an aligned block, large and small, keeps its target; the aligned block is held by a global.
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

struct ring {
    char padding[3968];
    char *slots[16];
};

static struct ring *ring;
static char **large;

int main(void) {
    ring = memalign(4096, sizeof *ring);            // forgotten: 1 block, 4096 bytes
    memset(ring, 0, sizeof *ring);
    ring->slots[15] = strdup("in the last word");   // forgotten: 1 block, 17 bytes
    large = aligned_alloc(1 << 20, 1 << 21);        // forgotten: 1 block, 2097152 bytes
    memset(large, 0, 1 << 21);
    large[(1 << 18) - 1] = strdup("far away");      // forgotten: 1 block, 9 bytes
    return 0;
}
