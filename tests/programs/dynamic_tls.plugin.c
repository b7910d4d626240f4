#include <stdlib.h>
#include <string.h>

static __thread char padding[4096];
static __thread char *last_error;

void set_error(const char *text) {
    padding[0] = text[0];
    free(last_error);
    last_error = strdup(text);    // forgotten: 2 blocks, 15 bytes; lost: 1 block, 11 bytes
}
