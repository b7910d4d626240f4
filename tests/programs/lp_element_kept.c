// A label is set twice. The address of the element is worked out before the call that makes the new label, and waits in a register.
// valgrind -O2: differs: gcc inlines set_label and drops the first of the two stores to the label: its block is a result that nobody keeps
// stdout: fragile express south-east
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct item {
    int weight;
    char *labels[4];
};

struct inventory {
    size_t count;
    struct item *items;
    char **tags;
};

static char *lower(const char *text) {
    size_t length = strlen(text);
    char *copy = malloc(length + 1);    // lost @tag: 1 block, 8 bytes; lost @label: 1 block, 6 bytes

    for (size_t i = 0; i < length; i++)
        copy[i] = text[i] | 0x20;
    copy[length] = '\0';
    return copy;
}

static void set_tag(struct inventory *inv, int at, const char *text) {
    inv->tags[at] = lower(text);    // leaks @tag: overwritten inv->tags[at]; last used @tag
}

static void set_label(struct inventory *inv, size_t item, int at, const char *text) {
    inv->items[item].labels[at] = lower(text);    // leaks @label: overwritten inv->items[item].labels[at]; last used @label
}

int main(int argc, char **argv) {
    struct inventory inv = {3, calloc(3, sizeof(struct item)), calloc(3, sizeof(char *))};

    (void)argv;
    for (int i = 0; i < 3; i++)
        set_tag(&inv, i, "Fragile");
    set_tag(&inv, argc, "Express");
    set_label(&inv, 2, argc, "North");
    set_label(&inv, 2, argc, "South-East");
    printf("%s %s %s\n", inv.tags[0], inv.tags[1], inv.items[2].labels[1]);
    for (int i = 0; i < 3; i++)
        free(inv.tags[i]);
    free(inv.items[2].labels[1]);
    free(inv.items);
    free(inv.tags);
    return 0;
}
