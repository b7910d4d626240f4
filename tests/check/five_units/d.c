#include <stddef.h>

int e(char *p, int how);
char *e_make(int how);

int d(char *p, int how)
{
    return e(p, how);
}

int d_make(char **out, int how)
{
    *out = e_make(how);
    return *out == NULL;
}
