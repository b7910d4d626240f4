// Threads allocate and free at full speed, each other's blocks too: content survives, and nothing is left.
// flags: -pthread
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 4, ROUNDS = 20000, EXCHANGE = 256 };

struct parcel {
    size_t size;
    unsigned char bytes[];
};

static _Atomic(struct parcel *) exchange[EXCHANGE];
static atomic_int damaged;

static struct parcel *pack(size_t size) {
    struct parcel *parcel = malloc(sizeof *parcel + size);
    parcel->size = size;
    memset(parcel->bytes, (int)(size & 0xff), size);
    return parcel;
}

static void unpack(struct parcel *parcel) {
    if (parcel == NULL)
        return;
    for (size_t i = 0; i < parcel->size; i += 61)
        if (parcel->bytes[i] != (unsigned char)parcel->size)
            damaged++;
    free(parcel);
}

static void *trade(void *seed) {
    unsigned step = (unsigned)(size_t)seed;

    for (int i = 0; i < ROUNDS; i++) {
        step = step * 1103515245 + 12345;
        unpack(atomic_exchange(&exchange[step >> 16 & (EXCHANGE - 1)], pack(step >> 8 & 1023)));
    }
    return NULL;
}

int main(void) {
    pthread_t threads[THREADS];

    for (size_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, trade, (void *)(i + 1));
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < EXCHANGE; i++)
        unpack(atomic_exchange(&exchange[i], NULL));
    return damaged == 0 ? 0 : 1;
}
