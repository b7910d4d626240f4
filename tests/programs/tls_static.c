// Thread-local variables of the program hold the only pointers, in main and in a thread that is still alive.
// flags: -pthread
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

static __thread char *arena;
static __thread struct {
    long used;
    char *overflow;
} pool = {.used = 1};
static int idle_pipe[2];
static atomic_int ready;

static void prepare(size_t size) {
    arena = malloc(size);               // forgotten: 2 blocks, 300 bytes; lost: 1 block, 300 bytes
    pool.overflow = calloc(1, size);    // forgotten: 2 blocks, 300 bytes; lost: 1 block, 300 bytes
}

static void *park(void *unused) {
    char byte;
    prepare(200);
    ready = 1;
    return read(idle_pipe[0], &byte, 1) > 0 ? unused : NULL;
}

static void *pass_by(void *unused) {
    prepare(300);
    return unused;
}

int main(void) {
    pthread_t parked, passing;

    if (pipe(idle_pipe) != 0)
        return 1;
    prepare(100);
    pthread_create(&parked, NULL, park, NULL);
    while (!ready)
        sched_yield();
    pthread_create(&passing, NULL, pass_by, NULL);
    pthread_join(passing, NULL);
    return 0;
}
