// A listener is taken out of a table by moving the last one over it; the context that it was given is forgotten.
// valgrind-variable -O2: differs: gcc knows that index is 0 in the only call of stop_listening
// stdout: 3 called
#include <stdio.h>
#include <stdlib.h>

struct context {
    int seen;
    int limit;
};

struct listener {
    void (*call)(struct context *);
    struct context *context;
};

static struct listener listeners[4];
static int count, called;

static void count_down(struct context *context) {
    context->seen++;    // last used
    called++;
}

static void listen(int limit) {
    struct context *context = malloc(sizeof *context);    // lost: 1 block, 8 bytes
    *context = (struct context){0, limit};
    listeners[count++] = (struct listener){count_down, context};
}

static void stop_listening(int index) {
    listeners[index] = listeners[--count];    // leaks: overwritten listeners[index].context
}

int main(void) {
    for (int limit = 1; limit <= 3; limit++)
        listen(limit);
    for (int i = 0; i < count; i++)
        listeners[i].call(listeners[i].context);
    stop_listening(0);
    printf("%d called\n", called);
    for (int i = 0; i < count; i++)
        free(listeners[i].context);    // frees: 2 blocks
    return 0;
}
