// The stack of a joined thread stays mapped in libc's cache, and a pointer is still written on it: lost.
// flags: -pthread
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct report {
    char title[32];
    long pages;
};

static void *render(void *argument) {
    struct report *volatile copies[64];

    for (int i = 0; i < 64; i++)
        copies[i] = NULL;
    struct report *report = malloc(sizeof *report);    // lost: 3 blocks, 120 bytes
    strcpy(report->title, "quarter");
    report->pages = (long)argument;
    for (int i = 0; i < 64; i++)
        copies[i] = report;
    return (void *)copies[31]->pages;
}

int main(void) {
    long pages = 0;
    pthread_t threads[3];

    for (long i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, render, (void *)(i + 1));
    for (int i = 0; i < 3; i++) {
        void *count;
        pthread_join(threads[i], &count);
        pages += (long)count;
    }
    return pages == 6 ? 0 : 1;
}
