// Variables of one function that stay: the linker's name has the function's.
#include <stdlib.h>
#include <string.h>

const char *first_bad(const char *text)
{
    static char *last;
    last = strdup(text); // alloc @first
    last = NULL;         // leak @first: last
    return last;
}

const char *second_good(const char *text)
{
    static char *last;
    free(last);
    last = strdup(text);
    return last;
}
