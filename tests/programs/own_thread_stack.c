// A thread runs on a stack that the program allocated itself, and is parked there at exit: its words count.
// flags: -pthread
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STACK = 128 * 1024 };

static int idle_pipe[2];
static atomic_int waiting;

static void *listen(void *unused) {
    char *volatile greeting = strdup("220 ready");           // forgotten: 1 block, 10 bytes
    waiting = 1;
    return read(idle_pipe[0], greeting, 1) > 0 ? unused : NULL;
}

static void start(void) {
    pthread_attr_t own;
    pthread_t thread;
    void *stack = aligned_alloc(4096, STACK);                // forgotten: 1 block, 131072 bytes

    pthread_attr_init(&own);
    if (pthread_attr_setstack(&own, stack, STACK) != 0 || pthread_create(&thread, &own, listen, NULL) != 0)
        exit(1);
    pthread_attr_destroy(&own);
}

int main(void) {
    if (pipe(idle_pipe) != 0)
        return 1;
    start();
    while (!waiting)
        sched_yield();
    return 0;
}
