// A warning whose lines match no code is tried with what is left.
#include <stdio.h>
#include <stdlib.h>

static int step(int c)
{
    char *text = malloc(8);                                     // @rest MA
    if (!text)
        return 1;
                                                                // @rest BT
    if (c == 'x')
        return 2;                                               // @rest LK = must-leak lost
    free(text);
    return 0;
}

int main(void)
{
    return step(getchar());
}
