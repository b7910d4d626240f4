// A snapshot by signal: the runtime has a handler for it, the program sends it to itself, and goes on.
// options: --snapshot-signal USR2
// snapshots: 1
#include <signal.h>
#include <stdlib.h>
#include <string.h>

static char *upload;

static void fail_once(void) {
    char *error = malloc(66);    // lost: 1 block, 66 bytes (snapshot 1); lost: 1 block, 66 bytes
    error[0] = 'E';
    error = NULL;
}

int main(void) {
    struct sigaction current;

    upload = malloc(7000);       // forgotten: 1 block, 7000 bytes (snapshot 1)
    memset(upload, 0, 7000);
    fail_once();
    sigaction(SIGUSR2, NULL, &current);
    if (current.sa_handler != SIG_DFL)
        raise(SIGUSR2);
    free(upload);
    upload = NULL;
    return 0;
}
