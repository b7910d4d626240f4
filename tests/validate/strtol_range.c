// A number in hexadecimal, to its last digit.
// options: --sym-args 1 8
#include <stdlib.h>

static int set(const char *text)
{
    char *end;
    int *slot = malloc(sizeof *slot);                           // @slot MA
    if (!slot)
        return 1;
    long value = strtol(text, &end, 16);
    if (*end == 0 && end != text && value > 0xbeec && value < 0xbef0) // @slot BT
        return 2;                                               // @slot LK = must-leak lost
    *slot = (int)value;
    free(slot);
    return 0;
}

int main(int argc, char **argv)
{
    return argc == 2 ? set(argv[1]) : 0;
}
