// A block goes through five files, and back by a status.
#include <stdlib.h>
#include <string.h>

int b(char *p, int how);
int b_make(char **out, int how);

void through_good(void)
{
    char *p = strdup("x");
    if (p)
        b(p, 1);
}

void through_bad(void)
{
    char *p = strdup("x"); // alloc @through
    if (p)
        b(p, 0);
} // leak @through: p

int back_good(void)
{
    char *p;
    if (b_make(&p, 3) != 0)
        return -1;
    free(p);
    return 0;
}

int back_bad(int flag)
{
    char *p;
    if (b_make(&p, 3) != 0)
        return -1;
    if (flag)
        return -2; // leak @back: p
    free(p);
    return 0;
}
