// A thread that ends by pthread_exit() runs on the stack of one before it, whose result libc still has there.
// valgrind: differs: libc's copy of the result is overwritten when the next thread ends, and the tool cannot tell it from others
// flags: -pthread
// stdout: 4950
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static void *sum(void *argument) {
    int n = *(int *)argument;
    long *result = malloc(sizeof *result);        // lost: 1 block, 8 bytes
    *result = 0;
    for (int i = 0; i < n; i++)
        *result += i;
    return result;
}

static void *quits(void *argument) {
    if (argument == NULL)
        pthread_exit(NULL);
    return argument;
}

int main(void) {
    pthread_t thread;
    void *result;
    int n = 100;

    pthread_create(&thread, NULL, sum, &n);
    pthread_join(thread, &result);
    printf("%ld\n", *(long *)result);             // last used
    result = NULL;                                // leaks: overwritten result
    pthread_create(&thread, NULL, quits, NULL);
    pthread_join(thread, &result);
    return result != NULL;
}
