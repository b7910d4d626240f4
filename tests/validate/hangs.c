// Some inputs never end; others leak all the same.
// options: --run-time 0.5
#include <stdio.h>
#include <stdlib.h>

static int loop(int c)
{
    char *text = malloc(8);                                     // @hang MA; @leak MA
    if (!text)
        return 1;
    if (c == 'h')                                               // @hang BT
        for (volatile int forever = 1; forever;)                // @hang LK = may-leak
            ;
    if (c == 'l')                                               // @leak BT
        return 2;                                               // @leak LK = must-leak lost
    free(text);
    return 0;
}

int main(void)
{
    return loop(getchar());
}
