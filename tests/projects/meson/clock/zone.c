#include "clock.h"

#include <stdlib.h>
#include <string.h>

static struct zone *recent;

const struct zone *zone_find(const char *name) {
    if (recent == NULL || strcmp(recent->name, name) != 0) {
        recent = malloc(sizeof *recent);
        recent->name = malloc(strlen(name) + 1);
        strcpy(recent->name, name);
        recent->offset = strcmp(name, "utc") == 0 ? 0 : 60;
    }
    return recent;
}
