// A leak on one line with its condition: passing the line alone says nothing.
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
    int a, b;
    if (scanf("%d %d", &a, &b) != 2)
        return 1;
    char *text = malloc(16); // @x MA
    if (!text)
        return 1;
    text[0] = 'x';
    if (a * 3 + b == 1000 && a > b) return 2; // @x LK = must-leak lost
    puts(text);
    free(text);
    return 0;
}
