// The only pointer to a task goes through pthread_create to the thread, which frees it; the creator drops its own.
// variants: -O0 -O2
// flags: -pthread
// stdout: 30 12
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct task {
    int *values;
    int count;
    long *result;
};

static void *run(void *argument) {
    struct task *task = argument;
    long sum = 0;

    for (int i = 0; i < task->count; i++)
        sum += task->values[i];
    *task->result = sum;
    free(task->values);
    free(task);
    return NULL;
}

static int start(pthread_t *thread, int count, int step, long *result) {
    struct task *task = malloc(sizeof *task);

    task->values = calloc((size_t)count, sizeof *task->values);
    task->count = count;
    task->result = result;
    for (int i = 0; i < count; i++)
        task->values[i] = i * step;
    return pthread_create(thread, NULL, run, task);
}

int main(void) {
    pthread_t threads[2];
    long results[2];

    if (start(&threads[0], 5, 3, &results[0]) != 0 || start(&threads[1], 4, 2, &results[1]) != 0)
        return 1;
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    printf("%ld %ld\n", results[0], results[1]);
    return 0;
}
