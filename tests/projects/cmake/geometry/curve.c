#include "curve.h"

#include <stdlib.h>

struct curve *curve_sample(double (*f)(double), double from, double to, int count) {
    struct curve *curve = malloc(sizeof *curve);

    curve->count = count;
    curve->points = calloc((size_t)count, sizeof *curve->points);
    for (int i = 0; i < count; i++) {
        double x = from + (to - from) * i / (count - 1);
        curve->points[i] = (struct point){x, f(x)};
    }
    return curve;
}

void curve_free(struct curve *curve) {
    free(curve);    /* and its points? */
}
