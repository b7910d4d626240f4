// Jobs that are counted atomically: the thread that takes them from a queue skips some and does not release these.
// flags: -pthread
// engines: track
// options: --explain
// stdout: 10 done
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

struct job {
    atomic_int rc;
    int id;
    struct job *next;
};

static struct job *queue;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct job *job_retain(struct job *job) {
    atomic_fetch_add(&job->rc, 1);
    return job;
}

static void job_release(struct job *job) {
    if (atomic_fetch_sub(&job->rc, 1) == 1)
        free(job);
}

static struct job *queue_take(void) {
    pthread_mutex_lock(&lock);
    struct job *job = queue;
    if (job != NULL)
        queue = job->next;
    pthread_mutex_unlock(&lock);
    return job;
}

static void *work(void *argument) {
    int *done = argument;
    for (;;) {
        struct job *job = queue_take();
        if (job == NULL)
            return NULL;
        job->next = NULL;
        ++*done;
        if (job->id % 5 == 3)
            continue; // leaks: scope-end job
        job_release(job);
    }
}

int main(void) {
    struct job *jobs[10];
    for (int i = 0; i < 10; i++) {
        struct job *job = malloc(sizeof *job); // lost: 2 blocks, 32 bytes; counted: 2 references, 1 holder
        atomic_init(&job->rc, 1);
        job->id = i;
        job->next = queue;
        queue = job_retain(job);
        jobs[i] = job;
    }
    int done = 0;
    pthread_t thread;
    pthread_create(&thread, NULL, work, &done);
    pthread_join(thread, NULL);
    for (int i = 0; i < 10; i++) {
        struct job *job = jobs[i];
        jobs[i] = NULL;
        job_release(job);
    }
    printf("%d done\n", done);
    return 0;
}
