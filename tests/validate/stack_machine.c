// A stack machine by words on standard input.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct cell {
    int value;
    struct cell *below;
};

static struct cell *top;
static int count;

static void push(int v)
{
    struct cell *c = malloc(sizeof *c); // @drop MA
    if (!c)
        exit(1);
    c->value = v;
    c->below = top;
    top = c;
    count++;
}

static int pop(void)
{
    struct cell *c = top;
    if (!c) {
        fprintf(stderr, "empty\n");
        return 0;
    }
    int v = c->value;
    top = c->below;
    free(c);
    count--;
    return v;
}

int main(void)
{
    char word[16];
    int n;
    while (scanf("%15s", word) == 1) {
        if (sscanf(word, "%d", &n) == 1) {
            push(n);
        } else if (!strcmp(word, "add")) {
            int a = pop(), b = pop();
            push(a + b);
        } else if (!strcmp(word, "mul")) {
            int a = pop(), b = pop();
            push(a * b);
        } else if (!strcmp(word, "dup")) {
            int a = pop();
            push(a);
            push(a);
        } else if (!strcmp(word, "drop")) {
            if (count >= 3 && top->value == 42)
                top = top->below; // @drop LK = must-leak lost
            else
                pop();
        } else if (!strcmp(word, "clear")) {
            while (top)
                pop();
        } else if (!strcmp(word, "end")) {
            break;
        }
    }
    while (top)
        printf("%d\n", pop());
    return 0;
}
