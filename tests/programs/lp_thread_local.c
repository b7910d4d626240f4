// A thread-local buffer ends with its thread, and nobody freed what it points to.
// valgrind-variable: differs: the block of thread-local variables goes as a whole
// flags: -pthread
// stdout: 1.50 MB and 640.00 kB
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static __thread char *scratch;

static const char *format_size(double bytes) {
    if (scratch == NULL)
        scratch = malloc(24);    // lost: 2 blocks, 48 bytes
    if (bytes >= 1e6)
        snprintf(scratch, 24, "%.2f MB", bytes / 1e6);
    else
        snprintf(scratch, 24, "%.2f kB", bytes / 1e3);
    return scratch;
}

struct answer {
    double bytes;
    char text[24];
};

static void *describe(void *argument) {
    struct answer *answer = argument;

    snprintf(answer->text, sizeof answer->text, "%s", format_size(answer->bytes));    // last used
    return NULL;    // leaks: thread-end scratch
}

int main(void) {
    struct answer answers[] = {{1500000, ""}, {640000, ""}};

    for (int i = 0; i < 2; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, describe, &answers[i]) != 0)
            return 1;
        pthread_join(thread, NULL);
    }
    printf("%s and %s\n", answers[0].text, answers[1].text);
    return 0;
}
