// 200 threads start and end in waves; each loses a block, and each frees what the wave before left for it.
// flags: -pthread
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { WAVES = 20, THREADS = 10 };

static char *handover[THREADS];

static void log_line(long number) {
    char *line = malloc(24);                    // lost: 200 blocks, 4800 bytes
    memset(line, (int)number, 24);
    line = NULL;
}

static void *work(void *argument) {
    long number = (long)argument;

    free(handover[number]);
    handover[number] = malloc(1000 + number);   // forgotten: 10 blocks, 10045 bytes
    for (int i = 1; i < 50; i++)
        free(malloc((size_t)i * 16));
    log_line(number);
    return NULL;
}

int main(void) {
    pthread_t threads[THREADS];

    for (int wave = 0; wave < WAVES; wave++) {
        for (long i = 0; i < THREADS; i++)
            if (pthread_create(&threads[i], NULL, work, (void *)i) != 0)
                return 1;
        for (int i = 0; i < THREADS; i++)
            pthread_join(threads[i], NULL);
    }
    return 0;
}
