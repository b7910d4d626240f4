#include "measure.h"

#include <stdlib.h>

struct series *parse(const char *text) {
    struct series *series = calloc(1, sizeof *series);
    char *end;

    for (double value = strtod(text, &end); end != text; value = strtod(text, &end)) {
        series->values = realloc(series->values, (size_t)(series->count + 1) * sizeof value);
        series->values[series->count++] = value;
        text = end;
    }
    return series;
}
