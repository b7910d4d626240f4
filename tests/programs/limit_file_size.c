// Files may not grow at all: writing the report must not end the program with SIGXFSZ.
// valgrind: differs: cannot start under the limit
// rlimit: fsize 0
// exit: 9
// report: none
// memcheck: differs: cannot write its report to a file under the limit
// lsan: differs: cannot write its report to a file under the limit
#include <stdlib.h>
#include <string.h>

static void lose_page(void) {
    char *page = malloc(777);
    page[0] = 'p';
    page = NULL;
}

int main(void) {
    lose_page();
    return 9;
}
