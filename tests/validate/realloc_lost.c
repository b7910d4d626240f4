// The classic: the old block is lost when realloc fails.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void)
{
    size_t room = 8, used = 0;
    char *text = malloc(room); // @x MA
    int c;
    if (!text)
        return 1;
    while ((c = getchar()) != EOF && c != '\n') {
        if (used + 1 == room) {
            room *= 2;
            text = realloc(text, room);
            if (!text)
                return 1; // @x LK = must-leak
        }
        text[used++] = (char)c;
    }
    text[used] = 0;
    puts(text);
    free(text);
    return 0;
}
