#include <stdlib.h>

int e(char *p, int how)
{
    if (how == 2)
        free(p);
    return how;
}

char *e_make(int how)
{
    return malloc(how); // alloc @back
}
