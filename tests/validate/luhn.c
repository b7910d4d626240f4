// Six digits with a checksum digit, as on cards.
// options: --sym-args 1 8
#include <stdlib.h>
#include <string.h>

static int luhn(const char *digits)
{
    int sum = 0;
    for (int i = 0; i < 6; i++) {
        int value = digits[i] - '0';
        if (value < 0 || value > 9)
            return 0;
        if (i % 2 == 0)
            value = value * 2 > 9 ? value * 2 - 9 : value * 2;
        sum += value;
    }
    return sum % 10 == 0 && sum > 0;
}

static int card(const char *digits)
{
    char *copy = malloc(8);                                     // @card MA
    if (!copy)
        return 1;
    if (strlen(digits) == 6 && luhn(digits))                    // @card BT
        return 2;                                               // @card LK = must-leak lost
    free(copy);
    return 0;
}

int main(int argc, char **argv)
{
    return argc == 2 ? card(argv[1]) : 0;
}
