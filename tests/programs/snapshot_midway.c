// The program asks for a snapshot half way: it shows what was lost by then, and what was in use is not lost.
// snapshots: 1
#include "leakscope.h"
#include <stdlib.h>
#include <string.h>

static char *session;

static void handle(const char *request) {
    char *copy = strdup(request);    // lost: 1 block, 6 bytes (snapshot 1); lost: 2 blocks, 13 bytes
    copy[0] = 'R';
    copy = NULL;
}

int main(void) {
    session = malloc(150);           // forgotten: 1 block, 150 bytes (snapshot 1)
    char *local = malloc(160);       // forgotten: 1 block, 160 bytes (snapshot 1)
    local[0] = session[0] = 0;
    handle("first");
    leakscope_snapshot();
    handle("second");
    free(local);
    free(session);
    session = local = NULL;
    return 0;
}
