// The label for errors frees one of two.
#include <stdio.h>
#include <stdlib.h>

static int both(int c)
{
    int code = 1;
    char *first = malloc(8);                                    // @first MA
    char *second = NULL;
    if (!first)
        goto out;
    second = malloc(8);                                         // @second MA
    if (!second)
        goto fail;
    if (c == 'e')                                               // @first BT; @second BT
        goto fail;
    code = 0;
fail:
    free(second);
    if (code) {
        puts("failed");                                         // @second LK = bloat
        goto out;                                               // @first LK = must-leak lost
    }
    free(first);
out:
    return code;
}

int main(void)
{
    return both(getchar());
}
