// One condition is tested twice, and the branches that a tool tells may be of two ways that it has joined: the first of
// them excludes the others, but the leak point is reached all the same.
#include <stdio.h>
#include <stdlib.h>

static int work(int argc, char **argv)
{
    char *p = malloc(10);                                       // @joined MA; @apart MA
    if (argc > 1                                                // @joined BF; @apart BF
        && argv[1][0] == 'x')
        puts("x");
    if (argc > 1                                                // @joined BT; @apart BT
        && argv[1][0] == 'y')
        return 1;                                               // @joined LK = must-leak lost
    if (p && argc > 1 && argc < 1)
        return 2;                                               // @apart LK = likely-not-leak
    free(p);
    return 0;
}

int main(int argc, char **argv)
{
    return work(argc, argv);
}
