// A queue drops its head by moving the others down over it; the job that was cancelled is not freed.
// valgrind-variable -O2: differs: gcc inlines drop_head and has the address of its array in a register from before the loop, where no variable is
// stdout: ran build
// stdout: ran deploy
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct queue {
    size_t length;
    char *jobs[8];
};

static void push(struct queue *queue, const char *job) {
    queue->jobs[queue->length++] = strdup(job);    // lost: 1 block, 5 bytes
}

static void drop_head(struct queue *queue) {
    queue->length--;
    memmove(&queue->jobs[0], &queue->jobs[1], queue->length * sizeof queue->jobs[0]);    // leaks: overwritten queue->jobs[0]
}

static int is_cancelled(const char *job) {
    return strcmp(job, "lint") == 0;    // last used
}

static void run(char *job) {
    printf("ran %s\n", job);
    free(job);
}

static void run_all(struct queue *queue) {
    while (queue->length > 0) {
        if (!is_cancelled(queue->jobs[0]))
            run(queue->jobs[0]);
        drop_head(queue);
    }
}

int main(void) {
    struct queue queue = {0};

    push(&queue, "build");
    push(&queue, "lint");
    push(&queue, "deploy");
    run_all(&queue);
    memset(&queue, 0, sizeof queue);
    return 0;
}
