// A double free is reported although files may not grow at all.
// Not under Valgrind, which cannot start under the limit: it writes a file first.
// engines: track preload
// rlimit: fsize 0
// stops: double free
// memcheck: differs: cannot write its report to a file under the limit
#include <stdlib.h>

static void release(char *page) {
    free(page);    // first freed
}

int main(void) {
    char *page = malloc(777);    // allocated

    release(page);
    free(page);    // stops here
    return 0;
}
