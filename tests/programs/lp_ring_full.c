// A ring of log lines overwrites its oldest line when it is full, without freeing it.
// valgrind-variable -O2: differs: the index is in no register that a variable has
// stdout: line 2
// stdout: line 3
// stdout: line 4
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS 3

struct ring {
    char *line[SLOTS];
    unsigned head, count;
};

static void ring_put(struct ring *r, const char *text) {
    unsigned at = (r->head + r->count) % SLOTS;
    if (r->count == SLOTS) {
        r->head = (r->head + 1) % SLOTS;
        r->count--;
    }
    r->line[at] = strdup(text);    // lost: 2 blocks, 14 bytes; leaks: overwritten r->line[at]; last used
    r->count++;
}

static char *ring_get(struct ring *r) {
    if (!r->count)
        return NULL;
    char *line = r->line[r->head];
    r->line[r->head] = NULL;
    r->head = (r->head + 1) % SLOTS;
    r->count--;
    return line;
}

int main(void) {
    struct ring *r = calloc(1, sizeof *r);
    for (int i = 0; i < 5; i++) {
        char text[16];
        snprintf(text, sizeof text, "line %d", i);
        ring_put(r, text);
    }
    for (char *s; (s = ring_get(r));) {
        puts(s);
        free(s);
    }
    free(r);
    return 0;
}
