#include <stdlib.h>
#include <string.h>

static unsigned char *last_row;

static unsigned char *scale(int width, int height) {
    unsigned char *pixels = malloc((size_t)width * height);    // lost: 2 blocks, 160 bytes
    memset(pixels, 0x80, (size_t)width * height);
    return pixels;
}

int resize(int width, int height) {
    unsigned char *pixels = scale(width, height);
    int grey = pixels[0] == 0x80;

    if (last_row == NULL)
        last_row = calloc(1, 77);                              // lost: 1 block, 77 bytes
    pixels = NULL;
    return grey;
}
