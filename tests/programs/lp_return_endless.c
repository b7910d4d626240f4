// Returns out of loops that have no end of their own, and whose bodies have variables: no way leads to the closing brace.
// stdout: 3 of abcd, then 8
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int scan(const char *text)
{
    char *copy = strdup(text); // lost @copy: 1 block, 5 bytes
    int at = 0;
    while (1) {
        int letter = copy[at]; // last used @copy
        if (letter == '\0')
            return -1;
        if (letter == 'd')
            return at; // leaks @copy: scope-end copy
        at++;
    }
}

static int sum(int start)
{
    int *total = malloc(sizeof *total); // lost @total: 1 block, 4 bytes
    *total = 0;
    for (;;) {
        int round = start++;
        for (;;) {
            int step = round--;
            if (step < 0)
                break;
            if (*total > 100)
                return 0;
            if ((*total += step) > 7) // last used @total
                return 8; // leaks @total: scope-end total
        }
    }
}

int main(void)
{
    printf("%d of abcd", scan("abcd"));
    printf(", then %d\n", sum(2));
    return 0;
}
