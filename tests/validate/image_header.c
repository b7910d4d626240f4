// A bitmap header on standard input: sizes that must agree, a palette, rows.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct image {
    unsigned width, height, depth;
    unsigned char *palette, *rows;
};

static unsigned u16(const unsigned char *p) { return p[0] | p[1] << 8; }

static struct image *load(FILE *in)
{
    unsigned char h[14];
    if (fread(h, 1, sizeof h, in) != sizeof h)
        return NULL;
    if (h[0] != 'B' || h[1] != 'I')
        return NULL;
    unsigned total = u16(h + 2), offset = u16(h + 4);
    struct image *i = calloc(1, sizeof *i);
    if (!i)
        return NULL;
    i->width = u16(h + 6);
    i->height = u16(h + 8);
    i->depth = h[10];
    unsigned colours = h[11];
    if (i->width == 0 || i->height == 0 || i->width > 64 || i->height > 64)
        goto bad;
    unsigned row = (i->width * i->depth + 7) / 8;
    if (offset != sizeof h + 3 * colours || total != offset + row * i->height)
        goto bad;
    if (i->depth == 8 && colours == 0)
        goto bad;
    if (colours) {
        i->palette = malloc(3 * colours); // @palette MA
        if (!i->palette || fread(i->palette, 3, colours, in) != colours)
            goto bad;
    }
    i->rows = malloc(row * i->height);
    if (!i->rows || fread(i->rows, row, i->height, in) != i->height) {
        free(i->rows);
        free(i);
        return NULL; // @palette LK = must-leak lost
    }
    return i;
bad:
    free(i->palette);
    free(i);
    return NULL;
}

int main(void)
{
    struct image *i = load(stdin);
    if (!i)
        return 1;
    unsigned sum = 0;
    for (unsigned y = 0; y < i->height; y++)
        sum += i->rows[y * ((i->width * i->depth + 7) / 8)];
    printf("%u\n", sum);
    free(i->rows);
    free(i->palette);
    free(i);
    return 0;
}
