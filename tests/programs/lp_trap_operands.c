// An interpreter is left by longjmp: of two blocks of one allocation, each is told with its own variable, looked at again too.
// valgrind: differs: what was popped is still in the stack's slots, which go later
// options: --explain
// stdout: abc
// stdout: too long
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct machine {
    jmp_buf trap;
    char *stack[8];
    int depth;
};

static void fail(struct machine *m) {
    longjmp(m->trap, 1);    // leaks @both: unwound left, result; leaks @right: unwound right
}

static char *pop(struct machine *m) {
    return m->stack[--m->depth];
}

static void concat(struct machine *m) {
    char *right = pop(m);
    char *left = pop(m);
    char *result = malloc(strlen(left) + strlen(right) + 1);    // lost @both: 2 blocks, 22 bytes
    strcpy(result, left);
    strcat(result, right);
    if (strlen(result) > 10)
        fail(m);
    free(left);
    free(right);
    m->stack[m->depth++] = result;
}

static int run(struct machine *m, const char *const *words) {
    if (setjmp(m->trap)) {
        puts("too long");
        return -1;
    }
    for (; *words != NULL; words++) {
        m->stack[m->depth++] = strdup(*words);    // lost @right: 1 block, 5 bytes
        if (m->depth == 2)
            concat(m);
    }
    char *all = pop(m);
    puts(all);
    free(all);
    return 0;
}

int main(void) {
    static const char *const first[] = {"a", "b", "c", NULL};
    static const char *const second[] = {"long", "word", "here", NULL};
    struct machine m = {.depth = 0};
    run(&m, first);
    run(&m, second);
    return 0;
}
