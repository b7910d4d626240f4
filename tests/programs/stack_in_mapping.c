// A thread ran on a stack in the upper half of a mapping; the lower half holds a block and is no stack.
// flags: -pthread
// lsan: differs: does not search mappings that the program made
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { SIZE = 1 << 20 };

static void *work(void *unused) {
    return unused;
}

static void keep(void) {
    char *area = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pthread_attr_t attributes;
    pthread_t thread;

    *(void **)area = malloc(100);    // forgotten: 1 block, 100 bytes
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, area + SIZE / 2, SIZE / 2);
    pthread_create(&thread, &attributes, work, NULL);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attributes);
}

int main(void) {
    keep();
    return 0;
}
