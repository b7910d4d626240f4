// Joins two files; the second may be missing.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *slurp(const char *name, size_t *size)
{
    FILE *in = fopen(name, "rb");
    if (!in)
        return NULL;
    size_t room = 16, n = 0, got;
    char *text = malloc(room); // @first MA
    if (!text) {
        fclose(in);
        return NULL;
    }
    while ((got = fread(text + n, 1, room - n, in)) > 0) {
        n += got;
        if (n == room) {
            room *= 2;
            char *more = realloc(text, room);
            if (!more) {
                free(text);
                fclose(in);
                return NULL;
            }
            text = more;
        }
    }
    fclose(in);
    *size = n;
    return text;
}

int main(int argc, char **argv)
{
    size_t n = 0, m = 0;
    if (argc != 3)
        return 2;
    char *a = slurp(argv[1], &n);
    if (!a)
        return 1;
    char *b = slurp(argv[2], &m);
    if (!b) {
        perror(argv[2]);
        return 1; // @first LK = must-leak lost
    }
    if (n == m && memcmp(a, b, n) == 0) {
        puts("same");
    } else {
        fwrite(a, 1, n, stdout);
        fwrite(b, 1, m, stdout);
    }
    free(a);
    free(b);
    return 0;
}
