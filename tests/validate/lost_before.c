// Records of which some are lost where they are read, before the leak points that others come to.
// options: --no-failures
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct record {
    int kind;
    char *text;
};

static struct record *parse(const char *line)
{
    struct record *r = malloc(sizeof *r); // @shown MA; @end MA; @kept MA
    if (!r)
        exit(3);
    r->kind = line[0];
    r->text = strdup(line);
    if (!r->text) {
        free(r);
        return NULL;
    }
    if (r->kind == '#') {
        free(r->text);
        return NULL;
    }
    return r;
}

int main(void)
{
    char line[64];
    int shown = 0;
    while (fgets(line, sizeof line, stdin)) {
        struct record *r = parse(line);
        if (!r)
            continue;
        if (r->kind == 'k' && line[1] == 'e') {
            shown++; // @kept LK = must-leak lost
            continue;
        }
        if (r->kind == 's' && line[1] == 'h')
            shown++; // @shown LK = likely-not-leak
        free(r->text);
        free(r);
    }
    return shown > 1; // @end LK = bloat
}
