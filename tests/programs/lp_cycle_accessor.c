// A ring is gone round by a function that gives the next of what it is given; what it gives may be held by the local alone.
// valgrind -O2: differs: gcc inlines serve: the last pointers into the ring are in registers until main returns
// lsan: differs: calls every member of a cycle indirect
// stdout: sum 9
#include <stdio.h>
#include <stdlib.h>

struct seat {
    struct seat *next;
    int number;
};

static struct seat *after(struct seat *seat) {
    return seat->next;
}

static struct seat *table_for(int count) {
    struct seat *first = NULL, *last = NULL;

    for (int i = 0; i < count; i++) {
        struct seat *seat = calloc(1, sizeof *seat);    // lost: 1 block, 16 bytes; indirect: 2 blocks, 32 bytes
        seat->number = i + 1;
        if (last != NULL)
            last->next = seat;
        else
            first = seat;
        last = seat;
        last->next = first;
    }
    return first;
}

static int serve(int rounds) {
    struct seat *seat = table_for(3);
    int sum = 0;

    for (int i = 0; i < rounds; i++) {
        sum += seat->number;
        seat = after(seat);
    }
    return sum;                           // leaks: scope-end seat
}

int main(void) {
    printf("sum %d\n", serve(4) + 2);
    return 0;
}
