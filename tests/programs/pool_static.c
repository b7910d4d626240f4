// A pool in static memory: its blocks are told by name, without leak points, for only pointers into the heap are followed.
// config: [[allocator]]
// config: alloc = "slot_take"
// config: bytes = 32
// config: free = "slot_give"
// engines: track valgrind
// stdout: 3 slots
// memcheck: differs: it knows nothing of the pool
// lsan: differs: it knows nothing of the pool
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct slot {
    char *label;
    char used;
    char room[23];
};

static struct slot slots[8];
static struct slot *kept;

static struct slot *slot_take(void) {
    for (int i = 0; i < 8; i++) {
        if (!slots[i].used) {
            slots[i].used = 1;
            return &slots[i];
        }
    }
    return NULL;
}

static void slot_give(struct slot *slot) {
    slot->used = 0;
}

static struct slot *slot_new(const char *label) {
    struct slot *slot = slot_take(); // lost: 1 block, 32 bytes; forgotten: 1 block, 32 bytes
    slot->label = strdup(label); // indirect: 1 block, 5 bytes; forgotten: 1 block, 5 bytes
    return slot;
}

int main(void) {
    int count = 0;
    struct slot *slot = slot_new("gone");
    count += slot != NULL;
    free(slot->label);
    slot->label = NULL;
    slot_give(slot);
    kept = slot_new("kept");
    count += kept != NULL;
    slot = slot_new("lost");
    count += slot != NULL;
    slot = kept;
    printf("%d slots\n", count);
    return slot != kept;
}
