// At exit four threads are blocked in the kernel, and their stacks hold the only pointers: held, not lost.
// flags: -pthread
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int idle_pipe[2];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static atomic_int parked;

static void *reader(void *unused) {
    char *volatile buffer = malloc(111);                // forgotten: 1 block, 111 bytes
    parked++;
    if (read(idle_pipe[0], buffer, 1) > 0)
        buffer[0] = 0;
    return unused;
}

static void *poller(void *unused) {
    struct pollfd *volatile watched = calloc(2, sizeof *watched);    // forgotten: 1 block, 16 bytes
    watched[0] = watched[1] = (struct pollfd){.fd = idle_pipe[0], .events = POLLIN};
    parked++;
    poll(watched, 2, -1);
    return unused;
}

static void *sleeper(void *unused) {
    struct timespec *volatile night = malloc(sizeof *night);         // forgotten: 1 block, 16 bytes
    night->tv_sec = 3600;
    night->tv_nsec = 0;
    parked++;
    nanosleep(night, NULL);
    return unused;
}

static void *waiter(void *unused) {
    char *volatile job = strdup("job");                 // forgotten: 1 block, 4 bytes
    pthread_mutex_lock(&lock);
    parked++;
    while (job[0] == 'j')
        pthread_cond_wait(&never, &lock);
    return unused;
}

static void lose_task(void) {
    char *task = malloc(222);                           // lost: 1 block, 222 bytes
    task[0] = 't';
    task = NULL;
}

int main(void) {
    void *(*roles[])(void *) = {reader, poller, sleeper, waiter};
    pthread_t threads[4];

    if (pipe(idle_pipe) != 0)
        return 1;
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, roles[i], NULL);
    while (parked < 4)
        sched_yield();
    lose_task();
    return 0;
}
