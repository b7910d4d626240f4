// Digits that spell a number.
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

static int digit(int c)
{
    if (isdigit(c))
        return c - '0';
    c = tolower(c);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static int token(void)
{
    unsigned value = 0;
    int c, count = 0;
    char *text = malloc(16);                                    // @hex MA
    if (!text)
        return 1;
    while (count < 4 && (c = getchar()) != EOF && digit(c) >= 0) {
        value = value << 4 | (unsigned)digit(c);
        count++;
    }
    if (value == 0xcafe)                                        // @hex BT
        return 2;                                               // @hex LK = must-leak lost
    free(text);
    return 0;
}

int main(void)
{
    return token();
}
