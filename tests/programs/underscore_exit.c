// _exit ends at once, without atexit: the report comes all the same.
// exit: 6
// lsan: differs: checks at exit only, not at _exit
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *cache;

static void drop_cache(void) {
    free(cache);
}

static void lose_draft(void) {
    char *draft = malloc(58);    // lost: 1 block, 58 bytes
    draft[0] = 'd';
    draft = NULL;
}

int main(void) {
    atexit(drop_cache);
    cache = malloc(59);          // forgotten: 1 block, 59 bytes
    lose_draft();
    _exit(6);
}
