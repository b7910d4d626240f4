// A loop copies one array of pointers over another; an optimiser makes vector moves of it.
// valgrind-variable -O2: differs: gcc copies two elements at a time, at an address that no variable has
// stdout: 16 tracks, 16 replaced
#include <stdio.h>
#include <stdlib.h>

enum { TRACKS = 16 };

struct track {
    int number;
    float gain;
};

static struct track *playing[TRACKS], *loaded[TRACKS];

static void load(int first) {
    for (int i = 0; i < TRACKS; i++) {
        struct track *track = malloc(sizeof *track);    // lost: 16 blocks, 128 bytes
        track->number = first + i;
        track->gain = 1;
        loaded[i] = track;
    }
}

static void switch_over(void) {
    for (int i = 0; i < TRACKS; i++)
        playing[i] = loaded[i];    // leaks: overwritten playing[i]
}

static int mix(void) {
    int sum = 0;

    for (int i = 0; i < TRACKS; i++)
        sum += playing[i]->number;    // last used
    return sum;
}

int main(void) {
    int before = 0, after = 0;

    for (int set = 0; set < 2; set++) {
        load(set * TRACKS);
        switch_over();
        before = after;
        after = mix();
    }
    printf("%d tracks, %d replaced\n", TRACKS, (after - before) / TRACKS);
    for (int i = 0; i < TRACKS; i++)
        free(playing[i]);    // frees: 16 blocks
    return 0;
}
