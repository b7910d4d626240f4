// A thread's function returns with its working set still in a local.
// flags: -pthread
// stdout: primes below 100: 25, below 50: 15
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct range {
    int limit;
    int primes;
};

static void *count_primes(void *argument) {
    struct range *range = argument;
    char *composite = calloc((size_t)range->limit, 1);    // lost: 2 blocks, 150 bytes

    for (int i = 2; i < range->limit; i++) {
        if (composite[i])    // last used
            continue;
        range->primes++;
        for (int j = 2 * i; j < range->limit; j += i)
            composite[j] = 1;
    }
    return NULL;    // leaks: scope-end composite
}

int main(void) {
    struct range ranges[] = {{100, 0}, {50, 0}};
    pthread_t threads[2];

    for (int i = 0; i < 2; i++)
        if (pthread_create(&threads[i], NULL, count_primes, &ranges[i]) != 0)
            return 1;
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    printf("primes below 100: %d, below 50: %d\n", ranges[0].primes, ranges[1].primes);
    return 0;
}
