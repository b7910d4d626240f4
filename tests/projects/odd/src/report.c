#include "measure.h"

#include <stdio.h>
#include <stdlib.h>

void report(const char *title, double value) {
    char *line = malloc(80);

    snprintf(line, 80, "%s: %.1f %s", title, value, unit_name(1));
    puts(twice(line));
    free(line);
}
