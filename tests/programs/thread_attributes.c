// A thread's first allocation is made by libc, while it holds the thread's own lock.
// flags: -pthread
// stdout: stack found
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static void *measure(void *unused) {
    pthread_attr_t attributes;
    void *low;
    size_t size = 0;

    pthread_getattr_np(pthread_self(), &attributes);
    pthread_attr_getstack(&attributes, &low, &size);
    pthread_attr_destroy(&attributes);
    puts(size > 0 ? "stack found" : "no stack");
    char *note = malloc(21);    // lost: 1 block, 21 bytes
    note[0] = 'n';
    note = NULL;
    return unused;
}

int main(void) {
    pthread_t thread;

    pthread_create(&thread, NULL, measure, NULL);
    pthread_join(thread, NULL);
    return 0;
}
