// A thread that still lives at exit has old words below its stack pointer: they do not hold anything.
// flags: -pthread
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int idle_pipe[2];
static atomic_int waiting;

static long import(int depth) {
    char *volatile rows[128];

    for (int i = 0; i < 128; i++)
        rows[i] = NULL;
    if (depth > 0)
        return import(depth - 1) + 1;
    char *row = strdup("id,name,price");    // lost: 1 block, 14 bytes
    for (int i = 0; i < 128; i++)
        rows[i] = row;
    return (long)strlen(rows[64]);
}

static void *worker(void *unused) {
    char byte;
    char *volatile status = malloc(48);     // forgotten: 1 block, 48 bytes
    status[0] = (char)import(6);
    waiting = 1;
    if (read(idle_pipe[0], &byte, 1) > 0)
        status[0] = byte;
    return unused;
}

int main(void) {
    pthread_t thread;

    if (pipe(idle_pipe) != 0)
        return 1;
    pthread_create(&thread, NULL, worker, NULL);
    while (!waiting)
        sched_yield();
    return 0;
}
