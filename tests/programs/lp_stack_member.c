// Elements of an array that is a member, behind others, and counted by a member: in a block, a local and a global.
// valgrind -O2: differs: gcc drops stores that nobody reads, and inlines what makes them
// stdout: two 3
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct machine {
    jmp_buf trap;
    char *stack[4];
    int depth;
};

static struct machine shared;

static void push(struct machine *m, const char *text) {
    m->stack[m->depth] = strdup(text);    // lost @block: 1 block, 4 bytes; leaks @block: overwritten m->stack[m->depth]
    m->depth++;
}

static void put(const char *text) {
    shared.stack[shared.depth] = strdup(text);    // lost @global: 1 block, 5 bytes
    shared.depth++;
}

static void drop(void) {
    shared.depth--;
    shared.stack[shared.depth] = NULL;    // leaks @global: overwritten shared.stack[shared.depth]
}

static int top(void) {
    struct machine own;
    own.depth = 2;
    own.stack[own.depth] = strdup("top");    // lost @local: 1 block, 4 bytes
    int length = (int)strlen(own.stack[own.depth]);
    own.stack[own.depth] = NULL;    // leaks @local: overwritten own.stack[own.depth]
    return length;
}

int main(void) {
    struct machine *m = calloc(1, sizeof *m);
    push(m, "one");
    m->depth--;
    push(m, "two");
    put("last");
    drop();
    printf("%s %d\n", m->stack[0], top());
    free(m->stack[0]);
    free(m);
    return 0;
}
