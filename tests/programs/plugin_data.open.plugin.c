#include <stdlib.h>

static char *table;

void prepare(void) {
    table = calloc(1, 300);    // forgotten: 1 block, 300 bytes
}
