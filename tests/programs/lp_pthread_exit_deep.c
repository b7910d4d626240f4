// The worker leaves by pthread_exit in a function that may be inlined, three calls deep; what its first function
// holds is left behind. Optimised code has it in a register without a name there.
// stdout: 17
// flags: -pthread
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static long done;

static void stop_if(int n) {
    if (n > 3)
        pthread_exit(NULL);    // leaks: unwound ?
}

static void step(int n) {
    stop_if(n);
    done += n;
}

static void *worker(void *arg) {
    const char *job = arg;
    char *copy = strdup(job);    // lost: 1 block, 8 bytes
    size_t i = 0;
    int digit;
    while ((digit = copy[i++]) != 0)    // last used
        step(digit - '0');
    free(copy);    // frees: 1 block
    return NULL;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, NULL, worker, "1212135");
    pthread_join(t, NULL);
    pthread_create(&t, NULL, worker, "1111111");
    pthread_join(t, NULL);
    printf("%ld\n", done);
    return 0;
}
