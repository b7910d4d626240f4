// A runtime for tests: each check is a throw of a coin, and accesses to the
// block that `make` gave are counted by line, as far as a check lets them be seen.
#include <stdio.h>
#include <stdlib.h>

static unsigned long state = 12345;
static enum { COIN, ALWAYS, NEVER } mode;
static unsigned long accesses, checks;
static char *watched;

__attribute__((constructor)) static void begin(void) {
    const char *asked = getenv("TWIN");
    mode = !asked ? COIN : *asked == 'a' ? ALWAYS : NEVER;
}

// All registers but r11 and those of vectors are kept, and a flag says whether the result is 0. What was pushed goes.
#define ENTRY(name, function, arguments, leave)                                              \
    __asm__(".globl __leakscope_" #name "\n__leakscope_" #name ":\n"                         \
            "push %rbp\nmov %rsp, %rbp\npush %rax\npush %rcx\npush %rdx\npush %rsi\n"        \
            "push %rdi\npush %r8\npush %r9\npush %r10\nand $-16, %rsp\n" arguments "\n"       \
            "call " #function "\ntest %rax, %rax\nlea -64(%rbp), %rsp\npop %r10\npop %r9\n"   \
            "pop %r8\npop %rdi\npop %rsi\npop %rdx\npop %rcx\npop %rax\npop %rbp\n" leave)

ENTRY(dispatch, dispatch, "mov %r11, %rdi", "mov 8(%rsp), %r11\nret $8");
long dispatch(int *counter) {
    checks++;
    *counter = 0;
    state = state * 6364136223846793005UL + 1442695040888963407UL;
    return mode == COIN ? state >> 63 : mode == ALWAYS;
}

ENTRY(access, access, "mov 24(%rbp), %rdi\nmov 16(%rbp), %rsi", "ret $16");
ENTRY(access_once, access, "mov 16(%rbp), %rdi\nmov $1, %esi", "ret $8");
void access(char *pointer, long count) {
    if (watched && pointer >= watched && pointer < watched + 4096)
        accesses += count;
}

void *make(void) {
    return watched = calloc(1, 4096);
}

void seen(void) {
    printf("%lu accesses, %lu checks\n", accesses, checks);
    accesses = checks = 0;
}
