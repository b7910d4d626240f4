// Killed by SIGKILL: no report is possible, and that is said rather than "no leaks".
// Not under Valgrind, which sees the signal that the program sends itself, and reports.
// engines: track preload
// signal: 9
// report: none
#include <signal.h>
#include <stdlib.h>
#include <string.h>

int main(void) {
    char *page = malloc(4096);
    memset(page, 0, 4096);
    page = NULL;
    raise(SIGKILL);
    return 0;
}
