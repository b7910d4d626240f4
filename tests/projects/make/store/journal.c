#include "notes.h"

#include <stdlib.h>
#include <string.h>

static char *last_event;

void journal(const char *event) {
    last_event = strdup(event);
}
