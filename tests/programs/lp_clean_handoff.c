// Messages pass from thread to thread through a queue: the sender's pointers all die before the receiver frees.
// variants: -O0 -O2
// flags: -pthread
// stdout: received 100, sum 4950
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct message {
    struct message *next;
    int number;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t arrived = PTHREAD_COND_INITIALIZER;
static struct message *first, **last = &first;

static void send_message(int number) {
    struct message *message = calloc(1, sizeof *message);

    message->number = number;
    pthread_mutex_lock(&lock);
    *last = message;
    last = &message->next;
    pthread_cond_signal(&arrived);
    pthread_mutex_unlock(&lock);
}

static struct message *receive_message(void) {
    pthread_mutex_lock(&lock);
    while (first == NULL)
        pthread_cond_wait(&arrived, &lock);
    struct message *message = first;
    first = message->next;
    if (first == NULL)
        last = &first;
    pthread_mutex_unlock(&lock);
    return message;
}

static void *send_all(void *unused) {
    for (int i = 0; i < 100; i++)
        send_message(i);
    return unused;
}

int main(void) {
    pthread_t sender;
    int sum = 0;

    if (pthread_create(&sender, NULL, send_all, NULL) != 0)
        return 1;
    for (int i = 0; i < 100; i++) {
        struct message *message = receive_message();
        sum += message->number;
        free(message);
    }
    pthread_join(sender, NULL);
    printf("received 100, sum %d\n", sum);
    return 0;
}
