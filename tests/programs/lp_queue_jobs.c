// Jobs that a worker takes from a ring and does not want are not freed; the ring keeps their pointers until it comes round, and what they hold is lost with them.
// valgrind: differs: a result that is in a register hides which slot it was read from
// stdout: 12 done
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS = 8 };

struct job {
    int number;
    char *input;
};

struct queue {
    struct job *slots[SLOTS];
    unsigned head, tail;
};

static void put(struct queue *q, int number, const char *input) {
    struct job *job = malloc(sizeof *job);           // lost: 2 blocks, 32 bytes
    job->number = number;
    job->input = strdup(input);                      // indirect: 2 blocks, 6 bytes
    q->slots[q->tail++ % SLOTS] = job;
}

static struct job *take(struct queue *q) {
    return q->head == q->tail ? NULL : q->slots[q->head++ % SLOTS];
}

static void job_free(struct job *job) {
    free(job->input);
    free(job);
}

static int work(struct queue *q) {
    int done = 0;
    for (;;) {
        struct job *job = take(q);
        if (job == NULL)
            return done;
        if (job->number % 7 == 3)
            continue;                                // leaks: scope-end job
        done++;
        job_free(job);
    }
}

int main(void) {
    struct queue q = {0};
    int done = 0;
    for (int number = 0; number < 14; number++) {
        put(&q, number, "in");
        if (number % 2)
            done += work(&q);
    }
    printf("%d done\n", done);
    return 0;
}
