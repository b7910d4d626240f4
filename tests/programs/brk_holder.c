// A program that takes memory from sbrk for itself: a pointer there holds its block, and the area stays its own.
// lsan: differs: does not look into the program's own break area
#define _DEFAULT_SOURCE
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char **arena;

static void take_arena(void) {
    arena = sbrk(65536);
    if (arena == (void *)-1)
        exit(1);
    memset(arena, 0, 65536);
    arena[512] = strdup("held by the arena");    // forgotten: 1 block, 18 bytes
    arena = NULL;
}

int main(void) {
    take_arena();
    for (int i = 0; i < 1000; i++)
        free(malloc(3000));
    return 0;
}
