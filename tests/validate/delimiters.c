// Classes in brackets, `[:name:]` and `[=c=]`, of which one parser finds the end: what opened them
// is decided again behind it.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int closes(const char *text, size_t start, char mark, size_t *end)
{
    for (size_t i = start; i + 1 < strlen(text); i++)
        if (text[i] == mark && text[i + 1] == ']') {
            *end = i;
            return 1;
        }
    return 0;
}

static int is(const char *text, size_t at, char wanted)
{
    return text[at] == wanted;
}

static int class_of(const char *name, size_t length)
{
    return length == 5 && strncmp(name, "alpha", 5) == 0;
}

int main(int argc, char **argv)
{
    size_t end;
    if (argc < 2 || strlen(argv[1]) < 3 || !is(argv[1], 0, '['))
        return 1;
    if (!is(argv[1], 1, ':') && !is(argv[1], 1, '='))
        return 1;
    if (!closes(argv[1], 2, argv[1][1], &end) || end == 2)
        return 1;
    char *set = malloc(end);                    // @class MA; @equal MA
    if (!set)
        return 1;
    memcpy(set, argv[1] + 2, end - 2);
    if (argv[1][1] == ':') {
        if (class_of(set, end - 2))
            return 2;                           // @class LK = must-leak lost
    } else if (end == 3) {
        return 3;                               // @equal LK = must-leak lost
    }
    free(set);
    return 0;
}
