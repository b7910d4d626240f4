#include "measure.h"

#include <stdlib.h>

static double *last;

void remember(double value) {
    last = malloc(sizeof *last);
    *last = value;
}
