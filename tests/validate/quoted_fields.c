// Comma-separated fields with quotes from a file; an open quote at the end loses the field.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct row {
    char *field[4];
    int count;
};

static int add(struct row *r, const char *text, size_t n)
{
    char *f = malloc(n + 1);
    if (!f)
        return -1;
    memcpy(f, text, n);
    f[n] = 0;
    if (r->count == 4)
        return -1;
    r->field[r->count++] = f;
    return 0;
}

static int parse(struct row *r, const char *s)
{
    char *buffer = malloc(strlen(s) + 1); // @open MA
    size_t n = 0;
    int quoted = 0;
    if (!buffer)
        return -1;
    for (; *s && *s != '\n'; s++) {
        if (quoted) {
            if (*s == '"' && s[1] == '"') {
                buffer[n++] = '"';
                s++;
            } else if (*s == '"') {
                quoted = 0;
            } else {
                buffer[n++] = *s;
            }
        } else if (*s == '"') {
            quoted = 1;
        } else if (*s == ',') {
            if (add(r, buffer, n)) {
                free(buffer);
                return -1;
            }
            n = 0;
        } else {
            buffer[n++] = *s;
        }
    }
    if (quoted) {
        fprintf(stderr, "open quote\n");
        return -1; // @open LK = must-leak lost
    }
    int bad = add(r, buffer, n);
    free(buffer);
    return bad;
}

int main(int argc, char **argv)
{
    FILE *in = argc > 1 ? fopen(argv[1], "r") : stdin;
    char line[64];
    if (!in)
        return 1;
    while (fgets(line, sizeof line, in)) {
        struct row r = { { 0 }, 0 };
        if (parse(&r, line) == 0)
            printf("%d %s\n", r.count, r.field[0]);
        for (int i = 0; i < r.count; i++)
            free(r.field[i]);
    }
    if (in != stdin)
        fclose(in);
    return 0;
}
