// An interpreter's stack leaves popped pointers in its dead part, and pushes over them later: they were freed or moved.
// variants: -O0 -O2
// stdout: left-right-up
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *stack[8];
static int depth;

static void push(char *text) {
    stack[depth++] = text;
}

static char *pop(void) {
    return stack[--depth];
}

static void join(void) {
    char *right = pop(), *left = pop();
    size_t size = strlen(left) + strlen(right) + 2;
    char *joined = malloc(size);

    snprintf(joined, size, "%s-%s", left, right);
    push(joined);
    free(left);
    free(right);
}

static void run(const char *program) {
    static const char *const words[] = {"left", "right", "up"};

    for (const char *op = program; *op != '\0'; op++) {
        if (*op == '+')
            join();
        else
            push(strdup(words[*op - '0']));
    }
}

int main(void) {
    run("01+2+");
    char *result = pop();
    puts(result);
    free(result);
    return depth;
}
