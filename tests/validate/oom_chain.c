// Three blocks, the third of which cannot be had: one of the others is forgotten.
#include <stdlib.h>
#include <string.h>

struct record { char *name, *value; };

static struct record *make(const char *name, const char *value)
{
    struct record *r = malloc(sizeof *r); // @lost MA
    if (!r)
        return NULL;
    r->name = malloc(strlen(name) + 1); // @freed MA
    if (!r->name) {
        free(r);
        return NULL;
    }
    r->value = malloc(strlen(value) + 1);
    if (!r->value) {
        free(r->name); // @freed LK = bloat
        return NULL; // @lost LK = must-leak
    }
    strcpy(r->name, name);
    strcpy(r->value, value);
    return r;
}

int main(int argc, char **argv)
{
    struct record *r = make(argc > 1 ? argv[1] : "x", "y");
    if (!r)
        return 1;
    free(r->name);
    free(r->value);
    free(r);
    return 0;
}
