// A thread's stack for signal handlers is known to the kernel alone.
// flags: -pthread
// stdout: handled elsewhere
// valgrind-totals: differs: it does not ask the kernel
// memcheck: differs: it does not ask the kernel
// lsan: differs: it has stacks of its own for handlers
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

static void use_own_stack(void)
{
    stack_t stack = {0};
    stack.ss_size = 64 * 1024;
    stack.ss_sp = malloc(stack.ss_size); // forgotten: 1 block, 65536 bytes
    sigaltstack(&stack, NULL);
}

static void *worker(void *unused)
{
    (void)unused;
    stack_t stack = {0}, none = {.ss_flags = SS_DISABLE};
    stack.ss_size = 64 * 1024;
    stack.ss_sp = malloc(stack.ss_size);
    sigaltstack(&stack, NULL);
    stack_t known;
    sigaltstack(&none, &known);
    free(known.ss_sp);
    return NULL;
}

int main(void)
{
    pthread_t thread;
    use_own_stack();
    pthread_create(&thread, NULL, worker, NULL);
    pthread_join(thread, NULL);
    puts("handled elsewhere");
    return 0;
}
