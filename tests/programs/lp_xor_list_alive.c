// An xor list is alive at the end: its outer nodes are held, but the one between them is in no word, so it counts as lost.
// variants: -O0 -O2
// stdout: 5 stops
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct stop {
    uintptr_t neighbours;
    int number;
};

static struct stop *first, *last;

static void add_stop(int number) {
    struct stop *stop = malloc(sizeof *stop);    // forgotten: 4 blocks, 64 bytes; lost: 1 block, 16 bytes

    stop->number = number;
    stop->neighbours = (uintptr_t)last;
    if (last != NULL)
        last->neighbours ^= (uintptr_t)stop;
    else
        first = stop;
    last = stop;
}

static int count_stops(void) {
    int count = 0;
    uintptr_t before = 0;

    for (struct stop *stop = first; stop != NULL; count++) {
        uintptr_t next = stop->neighbours ^ before;
        before = (uintptr_t)stop;
        stop = (struct stop *)next;
    }
    return count;
}

int main(void) {
    for (int i = 1; i <= 5; i++)
        add_stop(i);
    printf("%d stops\n", count_stops());
    return 0;
}
