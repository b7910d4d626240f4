// The file that is named by an argument begins with a magic number.
// options: --sym-args 1 4
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct image {
    uint32_t width, height;
};

static int load(FILE *file)
{
    struct image image;
    uint32_t magic;
    if (fread(&magic, 4, 1, file) != 1 || magic != 0x31474d49)
        return 1;
    char *pixels = malloc(16);                                  // @pixels MA
    if (!pixels)
        return 2;
    if (fread(&image, sizeof image, 1, file) == 1 && image.width * image.height == 0x10001 // @pixels BT
        && image.width > 1 && image.height > 1)
        return 3;                                               // @pixels LK = must-leak lost
    free(pixels);
    return 0;
}

int main(int argc, char **argv)
{
    FILE *file = argc > 1 ? fopen(argv[1], "rb") : NULL;
    if (!file)
        return 1;
    int code = load(file);
    fclose(file);
    return code;
}
