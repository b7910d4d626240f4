// Kept only where it is freed again.
#include <stdio.h>
#include <stdlib.h>

static int work(int mode)
{
    char *text = NULL;
    if (mode == 'k')                                            // @flag BT
        text = malloc(8);                                       // @flag MA
    if (mode == 'j' || mode == 'l')                             // @flag BT
        return 1;                                               // @flag LK = likely-not-leak
    free(text);
    return 0;
}

int main(void)
{
    return work(getchar());
}
