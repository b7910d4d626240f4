// quick_exit runs its own handlers only: blocks that atexit would have freed are still there.
// exit: 5
// lsan: differs: checks at exit only, not at quick_exit
#include <stdlib.h>
#include <string.h>

static char *session;
static char *lock_name;

static void close_session(void) {
    free(session);
    session = NULL;
}

static void release_lock(void) {
    free(lock_name);
    lock_name = NULL;
    char *note = malloc(26);    // lost: 1 block, 26 bytes
    note[0] = 'n';
    note = NULL;
}

int main(void) {
    session = calloc(1, 41);    // forgotten: 1 block, 41 bytes
    lock_name = strdup("lock");
    atexit(close_session);
    at_quick_exit(release_lock);
    quick_exit(5);
}
