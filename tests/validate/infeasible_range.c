// Two conditions that exclude each other.
#include <stdio.h>
#include <stdlib.h>

static int check(unsigned value)
{
    char *text = malloc(8);                                     // @never MA
    if (!text)
        return 1;
    text[0] = 0;
    if (value > 200) {                                          // @never BT
        value += 7;
        if (value < 150)                                        // @never BT
            return 2;                                           // @never LK = likely-not-leak
    }
    free(text);
    return 0;
}

int main(void)
{
    int c = getchar();
    return c == EOF ? 0 : check((unsigned)c);
}
