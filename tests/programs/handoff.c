// Blocks are allocated in one thread and freed in another; the consumer drops every hundredth.
// flags: -pthread
#include <pthread.h>
#include <stdlib.h>

struct message {
    long number;
    char text[40];
};

enum { MESSAGES = 5000, SLOTS = 64 };

static struct message *ring[SLOTS];
static int first, used;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static void put(struct message *message) {
    pthread_mutex_lock(&lock);
    while (used == SLOTS)
        pthread_cond_wait(&changed, &lock);
    ring[(first + used++) % SLOTS] = message;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

static struct message *take(void) {
    pthread_mutex_lock(&lock);
    while (used == 0)
        pthread_cond_wait(&changed, &lock);
    struct message *message = ring[first];
    ring[first] = NULL;
    first = (first + 1) % SLOTS;
    used--;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    return message;
}

static void *produce(void *unused) {
    for (long i = 0; i < MESSAGES; i++) {
        struct message *message = malloc(sizeof *message);    // lost: 50 blocks, 2400 bytes
        message->number = i;
        put(message);
    }
    return unused;
}

static void *consume(void *unused) {
    for (long i = 0; i < MESSAGES; i++) {
        struct message *message = take();
        if (message->number % 100 == 99)
            continue;
        free(message);
    }
    return unused;
}

int main(void) {
    pthread_t producer, consumer;

    pthread_create(&producer, NULL, produce, NULL);
    pthread_create(&consumer, NULL, consume, NULL);
    pthread_join(producer, NULL);
    pthread_join(consumer, NULL);
    return 0;
}
