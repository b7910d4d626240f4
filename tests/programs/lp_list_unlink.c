// A node is taken out of its list; the list lets go first, so that the last pointer is the local at the return.
// valgrind -O2: differs: gcc inlines cancel: timer is in a register that no variable has when it is overwritten, and the list's own pointer went before
// stdout: 2 timers left
#include <stdio.h>
#include <stdlib.h>

struct timer {
    struct timer *next;
    int id;
    unsigned due;
};

static struct timer *timers;

static void start(int id, unsigned due) {
    struct timer *timer = malloc(sizeof *timer);    // lost: 1 block, 16 bytes
    timer->id = id;
    timer->due = due;
    timer->next = timers;
    timers = timer;
}

static int cancel(int id) {
    for (struct timer **link = &timers; *link != NULL; link = &(*link)->next) {
        struct timer *timer = *link;
        if (timer->id == id) {
            *link = timer->next;    // last used
            return 1;    // leaks: scope-end timer
        }
    }
    return 0;
}

static int stop_all(void) {
    int stopped = 0;

    while (timers != NULL) {
        struct timer *next = timers->next;
        free(timers);    // frees: 2 blocks
        timers = next;
        stopped++;
    }
    return stopped;
}

int main(void) {
    for (int id = 1; id <= 3; id++)
        start(id, 100u * (unsigned)id);
    if (!cancel(2) || cancel(7))
        return 1;
    printf("%d timers left\n", stop_all());
    return 0;
}
