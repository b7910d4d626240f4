// Killed by SIGTERM with the default action: what is known is reported, and the program still dies of the signal.
// signal: 15
// lsan: differs: does not check a program that a signal ends
#include <signal.h>
#include <stdlib.h>
#include <string.h>

static char *queue;

static void accept_job(const char *name) {
    char *job = strdup(name);    // lost: 2 blocks, 11 bytes
    job[0] = 'J';
    job = NULL;
}

int main(void) {
    accept_job("backup");
    accept_job("ntp");
    queue = calloc(10, 8);       // forgotten: 1 block, 80 bytes
    raise(SIGTERM);
    return 0;
}
