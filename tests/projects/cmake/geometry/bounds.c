#include "curve.h"

#include <stdlib.h>

struct bounds *curve_bounds(const struct curve *curve) {
    struct bounds *bounds = malloc(sizeof *bounds);

    bounds->low = bounds->high = curve->points[0];
    for (int i = 1; i < curve->count; i++) {
        double y = curve->points[i].y;
        bounds->high.x = curve->points[i].x;
        if (y < bounds->low.y)
            bounds->low.y = y;
        if (y > bounds->high.y)
            bounds->high.y = y;
    }
    return bounds;
}
