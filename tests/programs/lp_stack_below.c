// A stack machine keeps boxed and small numbers in words: the element below the top is written over.
// valgrind -O2: differs: gcc gives the store the line of small, which is inlined and makes its value
// stdout: 6.5 then 3
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

typedef uintptr_t value;

struct box {
    long uses;
    double number;
};

static value stack[8];
static int top;

static value small(long number) {
    return (value)number << 1 | 1;
}

static value boxed(double number) {
    struct box *box = malloc(sizeof *box);    // lost: 1 block, 16 bytes

    box->uses = 0;
    box->number = number;
    return (value)box;
}

static double number(value word) {
    return word & 1 ? (double)((intptr_t)word >> 1) : ((struct box *)word)->number;    // last used
}

static void push(value word) {
    stack[top++] = word;
}

static void add(void) {
    double sum = number(stack[top - 1]) + number(stack[top - 2]);

    top--;
    if (!(stack[top] & 1))
        free((void *)stack[top]);    // frees: 1 block
    if (sum == (double)(long)sum)
        stack[top - 1] = small((long)sum);    // leaks: overwritten stack[top - 1]
    else if (stack[top - 1] & 1)
        stack[top - 1] = boxed(sum);
    else
        ((struct box *)stack[top - 1])->number = sum;
}

int main(void) {
    push(boxed(1.5));
    push(small(2));
    push(small(3));
    add();
    add();
    printf("%g then ", number(stack[0]));
    free((void *)stack[--top]);    // frees: 1 block
    push(boxed(0.5));
    push(boxed(2.5));
    add();
    printf("%g\n", number(stack[0]));
    return 0;
}
