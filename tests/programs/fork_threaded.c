// fork while other threads allocate all the time: no lock may stay taken in the child, which allocates and reports.
// flags: -pthread
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORKERS = 3, CHILDREN = 8 };

static atomic_int stop;
static atomic_int running;

static void *churn(void *unused) {
    running++;
    for (size_t size = 1; !stop; size = size % 5000 + 13)
        free(malloc(size));
    return unused;
}

static void handle_request(int number) {
    for (size_t size = 1; size < 3000; size += 7)
        free(malloc(size));
    char *log = malloc(90);             // lost: 8 blocks, 720 bytes (child)
    log[0] = (char)number;
    log = NULL;
}

int main(void) {
    pthread_t workers[WORKERS];

    for (int i = 0; i < WORKERS; i++)
        pthread_create(&workers[i], NULL, churn, NULL);
    while (running < WORKERS)
        sched_yield();
    for (int i = 0; i < CHILDREN; i++) {
        int status = 0;
        pid_t child = fork();
        if (child == 0) {
            handle_request(i);
            exit(0);
        }
        if (waitpid(child, &status, 0) != child || status != 0)
            return 1;
    }
    stop = 1;
    for (int i = 0; i < WORKERS; i++)
        pthread_join(workers[i], NULL);
    return 0;
}
