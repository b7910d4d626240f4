// A thread spins with the only pointer to a block in a register; memory has no copy of it.
// flags: -pthread
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static atomic_int spinning;
static atomic_int stop;

/* Keeps `table` in r13 alone; the caller's own slot is overwritten before the loop starts. */
__attribute__((naked)) static void spin_with(void **table __attribute__((unused))) {
    __asm__ volatile("push %%r13\n"
                     "mov (%%rdi), %%r13\n"
                     "movq $0, (%%rdi)\n"
                     "xor %%eax, %%eax\n"
                     "lock incl %0\n"
                     "1: pause\n"
                     "cmpl $0, %1\n"
                     "je 1b\n"
                     "mov %%r13, (%%rdi)\n"
                     "pop %%r13\n"
                     "ret\n"
                     :
                     : "m"(spinning), "m"(stop)
                     : "memory");
}

static void *allocate_table(void) {
    void *table = malloc(640);    // forgotten: 1 block, 640 bytes
    memset(table, 7, 640);
    return table;
}

static void *worker(void *slot) {
    spin_with(slot);
    return NULL;
}

int main(void) {
    static void *slot;
    pthread_t thread;

    slot = allocate_table();
    pthread_create(&thread, NULL, worker, &slot);
    while (!spinning)
        sched_yield();
    return slot == NULL ? 0 : 1;
}
