// Numbers that sscanf reads from a date.
#include <stdio.h>
#include <stdlib.h>

static int date(const char *text)
{
    int year, month;
    char *name = malloc(12);                                    // @date MA
    if (!name)
        return 1;
    if (sscanf(text, "%d-%d", &year, &month) == 2 && year % 4 == 0 && year > 1999 && month == 2) // @date BT
        return 2;                                               // @date LK = must-leak lost
    free(name);
    return 0;
}

int main(void)
{
    char text[16];
    return fgets(text, sizeof text, stdin) ? date(text) : 0;
}
