// The latest frame is published by an atomic exchange whose result, the frame before it, is ignored.
// valgrind: differs: gcc puts what the exchange gives back into the frame, and it dies with that one line later
// stdout: frame 3: 30
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

struct frame {
    int number;
    int pixels[4];
};

static _Atomic(struct frame *) latest;

static void publish(int number) {
    struct frame *frame = calloc(1, sizeof *frame);    // lost: 2 blocks, 40 bytes
    frame->number = number;
    for (int i = 0; i < 4; i++)
        frame->pixels[i] = 10 * number;
    atomic_exchange(&latest, frame);    // last used; leaks: overwritten latest
}

static void show_and_clear(void) {
    struct frame *frame = atomic_exchange(&latest, NULL);

    printf("frame %d: %d\n", frame->number, frame->pixels[3]);
    free(frame);    // frees: 1 block
}

int main(void) {
    for (int number = 1; number <= 3; number++)
        publish(number);
    show_and_clear();
    return 0;
}
