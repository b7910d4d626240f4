#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *copy(const char *text, int extra)
{
    char *name = malloc(strlen(text) + 1 + extra);
    if (!name)
        return NULL;
    strcpy(name, text);
    return name;
}

int main(int argc, char **argv)
{
    char *first = copy(argv[0], 3);
    if (first && argc > 2) {
        char *second = malloc(argc);
        if (argv[1][0] == 'x')
            return 1;
        free(second);
        puts(first);
    }
    free(first);
    return 0;
}
