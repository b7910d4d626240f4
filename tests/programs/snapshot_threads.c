// Snapshots while four threads allocate and free all the time: none of their blocks in use is called lost.
// flags: -pthread
// snapshots: 5
#include "leakscope.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static atomic_int stop;
static atomic_int running;

static void *churn(void *seed) {
    char *volatile parts[32] = {0};
    unsigned step = (unsigned)(size_t)seed;

    running++;
    while (!stop) {
        step = step * 1103515245 + 12345;
        char *volatile *part = &parts[step >> 16 & 31];
        free(*part);
        *part = malloc(step >> 8 & 2047);
    }
    for (int i = 0; i < 32; i++)
        free(parts[i]);
    return NULL;
}

int main(void) {
    pthread_t threads[4];

    for (size_t i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, churn, (void *)(i + 1));
    while (running < 4)
        sched_yield();
    for (int i = 0; i < 5; i++)
        leakscope_snapshot();
    stop = 1;
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
