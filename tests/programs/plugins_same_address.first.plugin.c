#include <stdlib.h>

static int *box_first(int value) {
    int *box = malloc(44);      // lost: 1 block, 44 bytes
    *box = value;
    return box;
}

int apply(int value) {
    return *box_first(value) * 2;
}
