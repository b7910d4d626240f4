#include <stdlib.h>


static int *box_second(int value) {
    int *box = calloc(1, 55);   // lost: 1 block, 55 bytes
    *box = value;
    return box;
}


int apply(int value) {
    int box = *box_second(value);
    return box * box;
}
