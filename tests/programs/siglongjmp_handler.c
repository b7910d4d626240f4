// The program's own SIGSEGV and SIGFPE handlers leave by siglongjmp; what the abandoned frames owned is lost.
// stdout: 3 faults
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

static sigjmp_buf recovery;

static void on_fault(int number) {
    siglongjmp(recovery, number);
}

static int run_script(int script) {
    int *volatile variables = calloc(8, sizeof *variables);    // lost: 3 blocks, 96 bytes
    int *volatile target = script == 1 ? NULL : variables;

    if (script == 2)
        raise(SIGFPE);
    if (script == 3)
        target = (int *)16;
    *target = script;
    free(variables);
    return 0;
}

int main(void) {
    struct sigaction action = {.sa_handler = on_fault};
    volatile int faults = 0;

    sigaction(SIGSEGV, &action, NULL);
    sigaction(SIGFPE, &action, NULL);
    for (volatile int script = 0; script < 4; script++)
        if (sigsetjmp(recovery, 1) == 0)
            run_script(script);
        else
            faults++;
    printf("%d faults\n", faults);
    return 0;
}
