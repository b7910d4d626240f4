// The program ends in the middle of its work; what it has is still there.
#include <stdio.h>
#include <stdlib.h>

static char *shared;

static void prepare(int c)
{
    shared = malloc(16);                                        // @given MA
    if (!shared)
        exit(1);
    shared[0] = (char)c;
    if (c == 'p')                                               // @given BT
        shared[1] = 0;                                          // @given LK = likely-not-leak
}

int main(void)
{
    prepare(getchar());
    if (getchar() == '?')
        exit(3);
    int first = shared[0];
    free(shared);
    return first == 0;
}
