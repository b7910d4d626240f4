// A header whose sum stands in it in octal digits.
// options: --sym-file A
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct header { char name[8], size[4], sum[4], kind; };

static long octal(const char *s, int n)
{
    long v = 0;
    for (int i = 0; i < n; i++) {
        if (s[i] < '0' || s[i] > '7')
            return -1;
        v = 8 * v + (s[i] - '0');
    }
    return v;
}

int main(void)
{
    FILE *f = fopen("A", "rb");
    if (!f)
        return 1;
    struct header *h = malloc(sizeof *h); // @lost MA; @freed MA
    if (!h || fread(h, sizeof *h, 1, f) != 1) {
        fclose(f);
        free(h);
        return 1;
    }
    fclose(f);
    unsigned sum = 0;
    for (size_t i = 0; i < sizeof h->name + sizeof h->size; i++)
        sum += (unsigned char)((char *)h)[i];
    if (octal(h->sum, 4) != (long)sum || octal(h->size, 4) < 8) {
        fprintf(stderr, "bad header\n");
        free(h); // @freed LK = bloat
        return 1;
    }
    if (h->kind == 'L' && h->name[0] == '.') {
        fprintf(stderr, "links are not read\n");
        return 2; // @lost LK = must-leak lost
    }
    printf("%.8s\n", h->name);
    free(h);
    return 0;
}
