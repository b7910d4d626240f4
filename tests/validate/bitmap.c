// Width, height and depth must fit the size of the file; a palette of 16.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct info {
    uint32_t size;
    uint16_t width, height, depth, colours;
};

int main(int argc, char **argv)
{
    if (argc < 2)
        return 2;
    FILE *f = fopen(argv[1], "rb");
    if (!f)
        return 1;
    char sig[2];
    struct info info;
    uint32_t *palette = NULL;
    int status = 1;
    if (fread(sig, 2, 1, f) != 1 || sig[0] != 'B' || sig[1] != 'M')
        goto out;
    if (fread(&info, sizeof info, 1, f) != 1)
        goto out;
    if (info.depth != 1 && info.depth != 4 && info.depth != 8)
        goto out;
    uint32_t row = (info.width * info.depth + 31) / 32 * 4;
    if (row == 0 || info.height == 0 || info.size != row * info.height + sizeof info + info.colours * 4)
        goto out;
    if (info.colours > 1u << info.depth)
        goto out;
    palette = calloc(info.colours + 1, 4); // @x MA
    if (!palette)
        goto out;
    if (info.depth == 4 && info.colours == 16 && row > 100) {
        fclose(f);
        return 1; // @x LK = must-leak lost
    }
    status = 0;
out:
    free(palette);
    fclose(f);
    return status;
}
