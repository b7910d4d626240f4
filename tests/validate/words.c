// Three words on a line, the last of them known.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int line(char *text)
{
    char *words[3];
    int count = 0;
    char *copy = malloc(8);                                     // @word MA
    if (!copy)
        return 1;
    for (char *word = strtok(text, " \n"); word && count < 3; word = strtok(NULL, " \n"))
        words[count++] = word;
    if (count == 3 && strcmp(words[2], "end") == 0)             // @word BT
        return 2;                                               // @word LK = must-leak lost
    free(copy);
    return 0;
}

int main(void)
{
    char text[32];
    return fgets(text, sizeof text, stdin) ? line(text) : 0;
}
