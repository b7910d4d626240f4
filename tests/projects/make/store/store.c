#include "notes.h"

#include <stdlib.h>
#include <string.h>

static struct note *notes;

void store_add(const char *title, const char *body) {
    struct note *note = malloc(sizeof *note);

    note->title = trimmed(title);
    note->body = wrapped(body, 20);
    note->next = notes;
    notes = note;
    journal("added");
}

int store_count(void) {
    int count = 0;
    for (struct note *note = notes; note != NULL; note = note->next)
        count++;
    return count;
}

void store_clear(void) {
    while (notes != NULL) {
        struct note *note = notes;
        notes = note->next;
        free(note->title);
        free(note);
    }
    journal("cleared");
}
