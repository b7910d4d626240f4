// A leak point on one line with a condition that no input meets.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    int mode = 0;
    if (argc > 1 && strcmp(argv[1], "fast") == 0)
        mode = 1;
    else if (argc > 1 && strcmp(argv[1], "safe") == 0)
        mode = 2;
    char *first = malloc(4);                            // @closed MA
    if (!first)
        return 2;
    first[0] = 'x';
    if (mode == 1 && mode == 2) return 9;               // @closed LK = bloat
    free(first);
    char *last = malloc(4);                             // @open MA
    if (!last)
        return 2;
    if (mode == 2 && argc == 3) return 8;               // @open LK = must-leak lost
    free(last);
    return 0;
}
