// The program has its own alternate signal stack and recovers from a stack overflow on it; the stack is a heap block.
// stdout: too deep
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ALTERNATE = 64 * 1024 };

static sigjmp_buf recovery;
static stack_t alternate;

static void on_overflow(int number) {
    siglongjmp(recovery, number);
}

static long evaluate(long depth) {
    volatile char frame[4096];
    frame[depth % 4096] = (char)depth;
    return evaluate(depth + 1) + frame[7];
}

static void use_alternate_stack(void) {
    struct sigaction action = {.sa_handler = on_overflow, .sa_flags = SA_ONSTACK};

    alternate.ss_sp = malloc(ALTERNATE);    // forgotten: 1 block, 65536 bytes
    alternate.ss_size = ALTERNATE;
    sigaltstack(&alternate, NULL);
    sigaction(SIGSEGV, &action, NULL);
}

static void lose_expression(void) {
    char *expression = strdup("(((");    // lost: 1 block, 4 bytes
    expression[0] = '[';
    expression = NULL;
}

int main(void) {
    use_alternate_stack();
    lose_expression();
    if (sigsetjmp(recovery, 1) == 0)
        return (int)evaluate(0);
    return write(1, "too deep\n", 9) == 9 ? 0 : 1;
}
