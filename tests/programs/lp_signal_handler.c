// A signal handler keeps its latest note and drops the one before.
// stdout: signal 3
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

static char *volatile latest;
static volatile sig_atomic_t seen;

static void on_signal(int number) {
    char *note = malloc(24);    // lost: 2 blocks, 48 bytes

    if (number == SIGUSR1)
        seen++;
    snprintf(note, 24, "signal %d", (int)seen);
    latest = note;    // leaks: overwritten latest; last used
}

int main(void) {
    signal(SIGUSR1, on_signal);
    for (int i = 0; i < 3; i++)
        raise(SIGUSR1);
    puts(latest);
    free(latest);
    return 0;
}
