// A path that ends in a crash shows nothing.
#include <stdio.h>
#include <stdlib.h>

static int step(int c)
{
    volatile int *none = NULL;
    char *text = malloc(8);                                     // @crash MA
    if (!text)
        return 1;
    if (c == 'c')                                               // @crash BT
        return *none;                                           // @crash LK = may-leak
    free(text);
    return 0;
}

int main(void)
{
    return step(getchar());
}
