// A header of four bytes, two of them in a relation.
#include <stdio.h>
#include <stdlib.h>

static int parse(void)
{
    char head[4];
    char *buffer = malloc(64);                                  // @header MA
    if (!buffer)
        return 1;
    if (fread(head, 1, 4, stdin) != 4) {
        free(buffer);
        return 2;
    }
    if (head[0] == 'L' && head[1] == 'K' && head[2] == head[3] * 2 && head[3] > 10) // @header BT
        return 3;                                               // @header LK = must-leak lost
    free(buffer);
    return 0;
}

int main(void)
{
    return parse();
}
