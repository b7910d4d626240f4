// What a compiler may take to be impossible happens all the same: numbers overflow, and a block that nobody
// needs is not there.
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
    int number;
    if (scanf("%d", &number) != 1)
        return 1;
    char *text = malloc(16); // @overflow MA; @fails MA
    if (!text)
        return 1;
    text[0] = (char)number;
    if (number + 1 < number)
        return 2; // @overflow LK = must-leak lost
    char *unneeded = malloc(8);
    if (!unneeded)
        return 3; // @fails LK = must-leak
    free(unneeded);
    puts(text);
    free(text);
    return 0;
}
