// Flags in the bits of one byte, turned by another.
#include <stdio.h>
#include <stdlib.h>

static int flags(unsigned a, unsigned b)
{
    char *state = malloc(4);                                    // @flags MA
    unsigned turned = (a << (b & 7) | a >> (8 - (b & 7))) & 0xff;
    if (!state)
        return 1;
    if ((turned & 0xa5) == 0x21 && (turned ^ b) % 13 == 4 && b > 128) // @flags BT
        return 2;                                               // @flags LK = must-leak lost
    free(state);
    return 0;
}

int main(void)
{
    int a = getchar(), b = getchar();
    return a == EOF || b == EOF ? 0 : flags((unsigned)a, (unsigned)b);
}
