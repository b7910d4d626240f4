#include "measure.h"

#include <stdlib.h>

double *window(const struct series *series, int width) {
    double *smooth = calloc((size_t)series->count, sizeof *smooth);

    for (int i = 0; i + width <= series->count; i++)
        for (int j = 0; j < width; j++)
            smooth[i] += series->values[i + j] / width;
    return smooth;
}
