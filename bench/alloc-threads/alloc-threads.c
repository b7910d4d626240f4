/* Allocation-bound, several threads. Each keeps a live set of small blocks of
 * mixed sizes in which a random one is replaced at each step. One block in
 * eight is not freed where it was allocated: batches of them go to the next
 * thread through a mailbox, and that thread frees them.
 *
 * usage: alloc-threads MILLIONS-OF-STEPS-OF-EACH-THREAD [THREADS] */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { LIVE = 1 << 15, BATCH = 64, MOST_THREADS = 64 };

struct block {
    size_t size;
    unsigned char bytes[];
};

struct batch {
    struct batch *next;
    size_t count;
    struct block *blocks[BATCH];
};

struct mailbox {
    pthread_mutex_t lock;
    struct batch *first;
};

struct worker {
    pthread_t thread;
    uint64_t seed;
    uint64_t steps;
    uint64_t sum;
    struct mailbox *from;
    struct mailbox *to;
    struct batch *outgoing;
    struct block *live[LIVE];
};

static uint64_t next_random(struct worker *worker)
{
    worker->seed ^= worker->seed << 13;
    worker->seed ^= worker->seed >> 7;
    worker->seed ^= worker->seed << 17;
    return worker->seed;
}

static void *allocated(size_t size)
{
    void *memory = malloc(size);
    if (memory == NULL)
        abort();
    return memory;
}

static struct block *block_of(size_t size)
{
    struct block *block = allocated(sizeof *block + size);
    block->size = size;
    block->bytes[0] = (unsigned char)size;
    return block;
}

static void send(struct worker *worker)
{
    pthread_mutex_lock(&worker->to->lock);
    worker->outgoing->next = worker->to->first;
    worker->to->first = worker->outgoing;
    pthread_mutex_unlock(&worker->to->lock);
    worker->outgoing = NULL;
}

static void hand_over(struct worker *worker, struct block *block)
{
    if (worker->outgoing == NULL) {
        worker->outgoing = allocated(sizeof *worker->outgoing);
        worker->outgoing->count = 0;
    }
    worker->outgoing->blocks[worker->outgoing->count++] = block;
    if (worker->outgoing->count == BATCH)
        send(worker);
}

static void empty(struct mailbox *mailbox)
{
    pthread_mutex_lock(&mailbox->lock);
    struct batch *batch = mailbox->first;
    mailbox->first = NULL;
    pthread_mutex_unlock(&mailbox->lock);
    while (batch != NULL) {
        struct batch *next = batch->next;
        for (size_t i = 0; i < batch->count; i++)
            free(batch->blocks[i]);
        free(batch);
        batch = next;
    }
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    for (size_t i = 0; i < LIVE; i++)
        worker->live[i] = block_of(16 + next_random(worker) % 128);
    for (uint64_t step = 0; step < worker->steps; step++) {
        uint64_t random = next_random(worker);
        struct block **slot = &worker->live[random % LIVE];
        worker->sum += (*slot)->size + (*slot)->bytes[0];
        if ((random >> 16) % 8 == 0)
            hand_over(worker, *slot);
        else
            free(*slot);
        *slot = block_of(16 + (random >> 24) % 128);
        if (step % 1024 == 0)
            empty(worker->from);
    }
    for (size_t i = 0; i < LIVE; i++)
        free(worker->live[i]);
    if (worker->outgoing != NULL)
        send(worker);
    return NULL;
}

int main(int argc, char **argv)
{
    static struct mailbox mailboxes[MOST_THREADS];
    static struct worker workers[MOST_THREADS];
    uint64_t steps = (argc > 1 ? strtoull(argv[1], NULL, 10) : 1) * 1000000;
    size_t threads = argc > 2 ? strtoull(argv[2], NULL, 10) : 2;
    uint64_t sum = 0;

    if (threads < 1 || threads > MOST_THREADS)
        abort();
    for (size_t i = 0; i < threads; i++)
        pthread_mutex_init(&mailboxes[i].lock, NULL);
    for (size_t i = 0; i < threads; i++) {
        workers[i].seed = 88172645463325252u + i;
        workers[i].steps = steps;
        workers[i].from = &mailboxes[i];
        workers[i].to = &mailboxes[(i + 1) % threads];
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0)
            abort();
    }
    for (size_t i = 0; i < threads; i++) {
        pthread_join(workers[i].thread, NULL);
        sum += workers[i].sum;
    }
    for (size_t i = 0; i < threads; i++)
        empty(&mailboxes[i]);
    printf("%llu\n", (unsigned long long)sum);
    return 0;
}
