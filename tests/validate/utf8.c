// Three bytes that are one sign.
#include <stdio.h>
#include <stdlib.h>

static int sign(void)
{
    unsigned char in[3];
    unsigned *sign = malloc(sizeof *sign);                      // @sign MA
    if (!sign)
        return 1;
    if (fread(in, 1, 3, stdin) != 3 || (in[0] & 0xf0) != 0xe0 || (in[1] & 0xc0) != 0x80 || (in[2] & 0xc0) != 0x80) {
        free(sign);
        return 2;
    }
    *sign = (unsigned)(in[0] & 15) << 12 | (unsigned)(in[1] & 63) << 6 | (in[2] & 63);
    if (*sign == 0x20ac)                                        // @sign BT
        return 3;                                               // @sign LK = must-leak lost
    free(sign);
    return 0;
}

int main(void)
{
    return sign();
}
