// A cancelled thread unwinds: its cleanup handler frees one block, the other is lost with the frame.
// flags: -pthread
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int idle_pipe[2];
static atomic_int waiting;

static void *download(void *unused) {
    char *url = strdup("mirror/list");         // lost: 1 block, 12 bytes
    char *buffer = malloc(2048);

    pthread_cleanup_push(free, buffer);
    waiting = 1;
    if (read(idle_pipe[0], buffer, 2048) > 0)
        url[0] = buffer[0];
    pthread_cleanup_pop(1);
    free(url);
    return unused;
}

int main(void) {
    pthread_t thread;
    void *result;

    if (pipe(idle_pipe) != 0)
        return 1;
    pthread_create(&thread, NULL, download, NULL);
    while (!waiting)
        sched_yield();
    pthread_cancel(thread);
    pthread_join(thread, &result);
    return result == PTHREAD_CANCELED ? 0 : 2;
}
