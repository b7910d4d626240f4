// Objects that are counted by retain and release: a setter retains the new value and does not release the old one.
// engines: track
// options: --explain
// stdout: green
#include <stdio.h>
#include <stdlib.h>

struct color {
    const char *name;
    long retains;
};

struct pen {
    struct color *color;
    int width;
};

static struct color *color_create(const char *name) {
    struct color *color = malloc(sizeof *color); // lost: 1 block, 16 bytes; counted: 1 reference, 0 holders
    color->name = name;
    color->retains = 1;
    return color;
}

static void color_retain(struct color *color) {
    color->retains += 1;
}

static void color_release(struct color *color) {
    color->retains -= 1;
    if (color->retains == 0)
        free(color);
}

static void pen_init(struct pen *pen, struct color *color) {
    color_retain(color);
    pen->color = color;
    pen->width = 1;
}

static void pen_set_color(struct pen *pen, struct color *color) {
    color_retain(color);
    pen->color = color; // leaks: overwritten pen->color
}

static void pen_draw(const struct pen *pen) {
    if (pen->width > 0 && pen->color->name[0] == 'g')
        puts(pen->color->name);
}

static void pen_end(struct pen *pen) {
    color_release(pen->color);
    pen->color = NULL;
}

int main(void) {
    struct pen pen;
    struct color *red = color_create("red");
    struct color *green = color_create("green");
    pen_init(&pen, red);
    color_release(red);
    red = NULL;
    pen_draw(&pen);
    pen_set_color(&pen, green);
    color_release(green);
    pen_draw(&pen);
    pen_end(&pen);
    return 0;
}
