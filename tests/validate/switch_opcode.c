// A small machine: the stack must hold two equal values when it halts.
#include <stdio.h>
#include <stdlib.h>

static int machine(void)
{
    int stack[8], top = 0, c;
    int *trace = malloc(8 * sizeof *trace);                     // @halt MA
    if (!trace)
        return 1;
    while ((c = getchar()) != EOF) {
        switch (c) {
        case 0x10:
            if (top == 8 || (c = getchar()) == EOF)
                goto out;
            stack[top++] = c;
            break;
        case 0x20:
            if (top < 2)
                goto out;
            stack[top - 2] += stack[top - 1];
            top--;
            break;
        case 0x30:
            if (top == 1 && stack[0] == 300)                    // @halt BT
                return 2;                                       // @halt LK = must-leak lost
            goto out;
        default:
            goto out;
        }
    }
out:
    free(trace);
    return 0;
}

int main(void)
{
    return machine();
}
