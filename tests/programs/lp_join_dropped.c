// A thread's result is joined by a caller that does not ask for it: it goes with the thread.
// flags: -pthread
// valgrind -O2: differs: gcc leaves nothing of the return but the end of the loop before it
// stdout: 10 and 15
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static void *sum_up_to(void *limit) {
    long *sum = calloc(1, sizeof *sum);    // lost: 1 block, 8 bytes

    for (long i = 1; i <= (long)limit; i++)
        *sum += i;
    return sum;    // leaks: thread-end
}

int main(void) {
    long limits[] = {4, 5, 3}, sums[2] = {0};
    pthread_t threads[3];

    for (int i = 0; i < 3; i++)
        if (pthread_create(&threads[i], NULL, sum_up_to, (void *)limits[i]) != 0)
            return 1;
    for (int i = 0; i < 2; i++) {
        void *sum;
        pthread_join(threads[i], &sum);
        sums[i] = *(long *)sum;
        free(sum);    // frees: 2 blocks
    }
    pthread_join(threads[2], NULL);
    printf("%ld and %ld\n", sums[0], sums[1]);
    return 0;
}
