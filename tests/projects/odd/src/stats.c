#include "measure.h"

#include <stdlib.h>
#include <string.h>

/* A statement expression: GNU C. */
double mean(const struct series *series) {
    double *sorted = malloc((size_t)series->count * sizeof *sorted);
    double total = 0;

    memcpy(sorted, series->values, (size_t)series->count * sizeof *sorted);
    for (int i = 0; i < series->count; i++)
        total += ({ double value = sorted[i]; value; });
    return series->count == 0 ? 0 : total / series->count;
}
