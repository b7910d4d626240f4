// A volatile slot, shared with a signal handler, is filled again before the handler's text was taken out.
// stdout: caught 2 signals, last: signal 12
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static volatile sig_atomic_t caught, number;
static char *volatile pending;

static void on_signal(int signal_number) {
    caught++;
    number = signal_number;
}

static void note_signal(void) {
    char text[32];

    snprintf(text, sizeof text, "signal %d", (int)number);
    pending = strdup(text);    // lost: 1 block, 10 bytes; last used; leaks: overwritten pending
}

int main(void) {
    static const int signals[] = {SIGUSR1, SIGUSR2};

    for (int i = 0; i < 2; i++) {
        signal(signals[i], on_signal);
        raise(signals[i]);
        note_signal();
    }
    printf("caught %d signals, last: %s\n", (int)caught, pending);
    free(pending);    // frees: 1 block
    return 0;
}
