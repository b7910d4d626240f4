// A record grows by a few bytes in place and keeps what it holds; its owner then drops it, and all goes together.
// valgrind -O2: differs: gcc inlines list_parts: part is in a register until main returns
// stdout: bolt: M6 M8
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct part {
    char *name;
    size_t sizes;
    int size[];
};

static struct part *part_new(const char *name) {
    struct part *part = malloc(sizeof *part);
    part->name = strdup(name);    // indirect @name: 1 block, 5 bytes
    part->sizes = 0;
    return part;
}

static struct part *part_with_size(struct part *part, int size) {
    struct part *grown = realloc(part, sizeof *part + (part->sizes + 1) * sizeof part->size[0]);    // lost @part: 1 block, 24 bytes
    grown->size[grown->sizes++] = size;
    return grown;
}

static void print(const struct part *part) {
    printf("%s:", part->name);    // last used @name
    for (size_t i = 0; i < part->sizes; i++)    // last used @part
        printf(" M%d", part->size[i]);
    putchar('\n');
}

static int list_parts(void) {
    struct part *part = part_new("bolt");

    part = part_with_size(part, 6);
    part = part_with_size(part, 8);
    print(part);
    return 0;    // leaks @part: scope-end part; leaks @name: scope-end part
}

int main(void) {
    return list_parts();
}
