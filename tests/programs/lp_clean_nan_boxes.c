// An interpreter's stack has strings in NaN boxes, their tags in the top bits; they are freed as they are popped.
// stdout: 3 strings, sum 6
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint64_t value;

static const value tag = 0xfffc000000000000;
static value stack[16];
static int top;

static void push_string(const char *text) {
    stack[top++] = tag | (value)(uintptr_t)strdup(text);
}

static void push_number(double number) {
    memcpy(&stack[top++], &number, sizeof number);
}

static double pop(int *strings) {
    value popped = stack[--top];
    double number;

    if ((popped & tag) == tag) {
        free((char *)(uintptr_t)(popped & ~tag));
        (*strings)++;
        return 0;
    }
    memcpy(&number, &popped, sizeof number);
    return number;
}

int main(void) {
    static const char *const words[] = {"alpha", "beta", "gamma"};
    int strings = 0;
    double sum = 0;

    for (int i = 0; i < 3; i++) {
        push_string(words[i]);
        push_number(i + 1);
    }
    while (top > 0)
        sum += pop(&strings);
    printf("%d strings, sum %g\n", strings, sum);
    return 0;
}
