// Files may not grow at all: writing the report must not end the program with SIGXFSZ.
// Not under Valgrind, which cannot start under the limit: it writes a file first.
// engines: track preload
// rlimit: fsize 0
// exit: 9
// memcheck: differs: cannot write its report to a file under the limit
// lsan: differs: cannot write its report to a file under the limit
#include <stdlib.h>
#include <string.h>

static void lose_page(void) {
    char *page = malloc(777);    // lost: 1 block, 777 bytes
    page[0] = 'p';
    page = NULL;
}

int main(void) {
    lose_page();
    return 9;
}
