// Functions in a table, chosen by the input.
#include <stdio.h>
#include <stdlib.h>

typedef int handler(int);

static int nothing(int c)
{
    return c;
}

static int leaky(int c)
{
    char *text = malloc(8);                                     // @handler MA
    if (!text)
        return -1;
    if (c == '!')                                               // @handler BT
        return 1;                                               // @handler LK = must-leak lost gap
    free(text);
    return 0;
}

static handler *const table[] = {nothing, nothing, leaky, nothing};

int main(void)
{
    int which = getchar();
    if (which < '0' || which > '3')
        return 1;
    return table[which - '0'](getchar());
}
