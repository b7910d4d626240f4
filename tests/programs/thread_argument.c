// libc keeps the control block of a thread that was joined, with its argument: that holds nothing. A result does.
// flags: -pthread
// stdout: 6 results
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *work(void *job) {
    char *result = malloc(50);                  // all are freed
    result[0] = job != NULL;
    return result;
}

static int give(char *job) {
    pthread_t thread;
    void *result;

    pthread_create(&thread, NULL, work, job);
    job = NULL;
    pthread_join(thread, &result);
    if (result == NULL)
        return 0;
    free(result);
    return 1;
}

int main(void) {
    int results = 0;

    for (int i = 0; i < 5; i++)
        results += give(NULL);
    results += give(strdup("the last job"));    // lost: 1 block, 13 bytes
    printf("%d results\n", results);
    return 0;
}
