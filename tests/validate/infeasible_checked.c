// A number that a function has checked, and a loop between that and the warning.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int number(const char *text, long low, long high, long *out)
{
    char *end;
    long value = strtol(text, &end, 10);
    if (end == text || *end || value < low || value > high)
        return 0;
    *out = value;
    return 1;
}

static int is_palindrome(const char *text)
{
    size_t size = strlen(text);
    for (size_t i = 0; i < size / 2; i++)
        if (text[i] != text[size - 1 - i])
            return 0;
    return 1;
}

int main(int argc, char **argv)
{
    long width, height;
    if (argc != 4 || !number(argv[1], 1, 99, &width) || !number(argv[2], 1, 140, &height))
        return 2;
    char *name = malloc(16);                                    // @wide MA; @high MA
    if (!name)
        return 1;
    snprintf(name, 16, "%.8s", argv[3]);
    if (is_palindrome(name)) {
        if (width > 99)
            return 3;                                           // @wide LK = likely-not-leak
        if (height > 130)
            return 4;                                           // @high LK = must-leak lost
    }
    free(name);
    return 0;
}
