// A stack machine's push jumps out when a string is too long; what was joined before is in no stack yet.
// stdout: abab
// stdout: error: too long
// stdout: xyxy
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct machine {
    char *stack[8];
    int top;
    jmp_buf trap;
    const char *error;
};

static void fail(struct machine *m, const char *why) {
    m->error = why;
    longjmp(m->trap, 1);    // leaks: unwound ?
}

static void push(struct machine *m, char *text) {
    if (strlen(text) > 9)    // last used
        fail(m, "too long");
    m->stack[m->top++] = text;
}

static void concat(struct machine *m) {
    char *right = m->stack[--m->top];
    char *left = m->stack[--m->top];
    char *joined = malloc(strlen(left) + strlen(right) + 1);    // lost: 1 block, 13 bytes
    strcpy(joined, left);
    strcat(joined, right);
    free(left);
    free(right);
    push(m, joined);
}

static void duplicate(struct machine *m) {
    push(m, strdup(m->stack[m->top - 1]));
}

static void run(struct machine *m, const char *first) {
    m->top = 0;
    if (setjmp(m->trap)) {
        printf("error: %s\n", m->error);
        while (m->top > 0)
            free(m->stack[--m->top]);
        return;
    }
    push(m, strdup(first));
    duplicate(m);
    concat(m);
    printf("%s\n", m->stack[0]);
    free(m->stack[--m->top]);    // frees: 2 blocks
}

int main(void) {
    static struct machine m;
    run(&m, "ab");
    run(&m, "abcdef");
    run(&m, "xy");
    return 0;
}
