// The only pointer is kept as an integer, in the user data of a timer that is armed again with other data.
// valgrind -O2: differs: gcc drops the first of the two stores to the timer: the copy is a result that nobody keeps
// stdout: sync
// stdout: purge old mail
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct timer {
    unsigned due;
    void (*fire)(uintptr_t argument);
    uintptr_t argument;
};

static struct timer timers[2];

static void arm(struct timer *timer, unsigned due, void (*fire)(uintptr_t), uintptr_t argument) {
    timer->due = due;
    timer->fire = fire;
    timer->argument = argument;    // leaks: overwritten timer->argument
}

static void print_and_free(uintptr_t argument) {
    char *text = (char *)argument;

    puts(text);
    free(text);
}

static void tick(unsigned now) {
    for (int i = 0; i < 2; i++)
        if (timers[i].fire != NULL && timers[i].due == now) {
            timers[i].fire(timers[i].argument);
            timers[i].fire = NULL;
        }
}

static void schedule(int index, unsigned due, const char *task) {
    char *copy = strdup(task);    // lost: 1 block, 14 bytes
    arm(&timers[index], due, print_and_free, (uintptr_t)copy);
}

int main(void) {
    schedule(0, 3, "read the mail");
    schedule(1, 1, "sync");
    schedule(0, 2, "purge old mail");
    for (unsigned now = 0; now < 4; now++)
        tick(now);
    return 0;
}
