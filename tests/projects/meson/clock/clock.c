#include "clock.h"

#include <stdio.h>
#include <stdlib.h>

char *clock_text(int minutes, const struct zone *zone) {
    int local = (minutes + zone->offset) % (24 * 60);
    char *text = malloc(6);

    snprintf(text, 6, "%02d:%02d", (unsigned)local / 60 % 100, (unsigned)local % 60);
    return text;
}
