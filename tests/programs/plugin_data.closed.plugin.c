#include <stdlib.h>

static char *table;

void prepare(void) {
    table = calloc(1, 400);    // lost: 1 block, 400 bytes
}
