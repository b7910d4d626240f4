// pthread_key destructors run at thread exit: they free the context, allocate again, and lose a trailer.
// flags: -pthread
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static pthread_key_t context_key;
static pthread_key_t trailer_key;

static void free_context(void *context) {
    free(context);
    pthread_setspecific(trailer_key, malloc(80));    // destroyed in the next round of destructors
}

static void drop_trailer(void *trailer) {
    char *copy = malloc(20);                         // lost: 8 blocks, 160 bytes
    memcpy(copy, trailer, 20);
    copy = NULL;
    free(trailer);
}

static void *serve(void *unused) {
    char *context = calloc(1, 300);
    pthread_setspecific(context_key, context);
    strcpy(context, "request");
    return unused;
}

int main(void) {
    pthread_t workers[8];

    pthread_key_create(&context_key, free_context);
    pthread_key_create(&trailer_key, drop_trailer);
    for (int i = 0; i < 8; i++)
        pthread_create(&workers[i], NULL, serve, NULL);
    for (int i = 0; i < 8; i++)
        pthread_join(workers[i], NULL);
    return 0;
}
