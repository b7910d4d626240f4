// Two lost roots share one child: it is counted once, as reached from a lost block.
// lsan: differs: an old word on the dead stack hides a block
#include <stdlib.h>
#include <string.h>

struct font {
    char face[40];
};

struct label {
    struct font *font;
    int x, y;
};

static struct font *load_font(const char *face) {
    struct font *font = calloc(1, sizeof *font);      // indirect: 1 block, 40 bytes; forgotten: 1 block, 40 bytes
    strcpy(font->face, face);
    return font;
}

static struct label *place(struct font *font, int x, int y) {
    struct label *label = malloc(sizeof *label);      // lost: 3 blocks, 48 bytes
    *label = (struct label){font, x, y};
    return label;
}

static struct font *fallback;

static void draw(void) {
    struct font *serif = load_font("serif");

    fallback = load_font("mono");
    place(serif, 1, 2);
    place(serif, 3, 4);
    place(fallback, 5, 6);
    serif = NULL;
}

int main(void) {
    draw();
    return 0;
}
