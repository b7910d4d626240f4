// exit() on a coroutine's stack: the stack pointer is in a heap block, and main's suspended frame holds a pointer too.
// exit: 3
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

enum { STACK = 64 * 1024 };

static ucontext_t scheduler, task, sleeper;
static int rounds;

static void run_task(void) {
    char *volatile job = strdup("index");        // forgotten: 1 block, 6 bytes
    for (;;) {
        job[0] = 'I';
        if (++rounds == 3)
            exit(3);
        swapcontext(&task, &scheduler);
    }
}

static void run_sleeper(void) {
    char *volatile dream = strdup("asleep");     // forgotten: 1 block, 7 bytes
    dream[0] = 'A';
    for (;;)
        swapcontext(&sleeper, &scheduler);
}

static void prepare(ucontext_t *context, void (*entry)(void)) {
    getcontext(context);
    context->uc_stack.ss_sp = malloc(STACK);     // forgotten: 2 blocks, 131072 bytes
    context->uc_stack.ss_size = STACK;
    context->uc_link = &scheduler;
    makecontext(context, entry, 0);
}

int main(void) {
    char *volatile plan = strdup("plan");        // forgotten: 1 block, 5 bytes
    plan[0] = 'P';
    prepare(&task, run_task);
    prepare(&sleeper, run_sleeper);
    for (;;) {
        swapcontext(&scheduler, &sleeper);
        swapcontext(&scheduler, &task);
    }
}
