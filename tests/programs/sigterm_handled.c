// The program handles SIGTERM itself and ends in order: our runtime does not take the signal away.
// exit: 3
#include <signal.h>
#include <stdlib.h>
#include <string.h>

static volatile sig_atomic_t ending;

static void on_terminate(int number) {
    ending = number;
}

int main(void) {
    struct sigaction action = {.sa_handler = on_terminate}, previous;
    char *buffer = malloc(512);

    sigaction(SIGTERM, NULL, &previous);
    if (previous.sa_handler != SIG_DFL)
        return 1;
    sigaction(SIGTERM, &action, NULL);
    memset(buffer, 0, 512);
    raise(SIGTERM);
    free(buffer);
    return ending == SIGTERM ? 3 : 2;
}
