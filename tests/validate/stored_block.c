// Header check modulo 31, stored block with complemented length, Adler-32.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned adler(const unsigned char *p, unsigned n)
{
    unsigned a = 1, b = 0;
    for (unsigned i = 0; i < n; i++) {
        a = (a + p[i]) % 65521;
        b = (b + a) % 65521;
    }
    return b << 16 | a;
}

int main(void)
{
    unsigned char in[64];
    size_t n = fread(in, 1, sizeof in, stdin);
    if (n < 11 || (in[0] & 15) != 8 || (in[0] * 256 + in[1]) % 31)
        return 1;
    if (in[2] != 1)
        return 1;
    unsigned len = in[3] | in[4] << 8, nlen = in[5] | in[6] << 8;
    if ((len ^ 0xffff) != nlen || n < 7 + len + 4 || len < 6)
        return 1;
    unsigned char *out = malloc(len + 1); // @x MA
    if (!out)
        return 1;
    memcpy(out, in + 7, len);
    out[len] = 0;
    const unsigned char *t = in + 7 + len;
    unsigned want = (unsigned)t[0] << 24 | t[1] << 16 | t[2] << 8 | t[3];
    if (adler(out, len) != want) {
        free(out);
        return 1;
    }
    if (memcmp(out, "DICT", 4) == 0) {
        puts("dictionaries are not supported");
        return 1; // @x LK = must-leak lost
    }
    fwrite(out, 1, len, stdout);
    free(out);
    return 0;
}
