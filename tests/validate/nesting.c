// Brackets three deep.
#include <stdio.h>
#include <stdlib.h>

static int next;

static int group(int depth)
{
    char *label = malloc(8);                                    // @deep MA
    if (!label)
        return -1;
    while (next == '[') {
        next = getchar();
        if (group(depth + 1) < 0) {
            free(label);
            return -1;
        }
        if (next != ']') {
            free(label);
            return -1;
        }
        next = getchar();
    }
    if (depth == 3 && next == ']')                              // @deep BT
        return 0;                                               // @deep LK = must-leak lost
    free(label);
    return 0;
}

int main(void)
{
    next = getchar();
    return group(0) < 0;
}
