// A deep call fills its frames with the pointer and returns; the words stay on the dead stack and hide nothing.
// lsan: differs: an old word on the dead stack hides the block
#include <stdlib.h>
#include <string.h>

struct image {
    int width, height;
    unsigned char pixels[56];
};

static int sharpen(struct image *image, int passes) {
    struct image *volatile copies[100];

    for (int i = 0; i < 100; i++)
        copies[i] = image;
    if (passes > 0)
        return sharpen(copies[passes], passes - 1) + 1;
    memset(copies[99]->pixels, 0, sizeof image->pixels);
    return 0;
}

static int process(void) {
    struct image *image = malloc(sizeof *image);    // lost: 1 block, 64 bytes
    image->width = image->height = 7;
    return sharpen(image, 20);
}

int main(void) {
    return process() == 20 ? 0 : 1;
}
