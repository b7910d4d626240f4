#include "config.h"

#include "codec.h"

#include <stdlib.h>

unsigned char *encode_runs(const unsigned char *bytes, size_t size, size_t *encoded) {
    unsigned char *pairs = malloc(2 * size);
    size_t used = 0;

    for (size_t i = 0; i < size;) {
        size_t run = 1;
        while (i + run < size && run < 255 && bytes[i + run] == bytes[i])
            run++;
        pairs[used++] = (unsigned char)run;
        pairs[used++] = bytes[i];
        i += run;
    }
    *encoded = used;
    return pairs;
}
