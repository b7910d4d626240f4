// Exactly three marks in a line of any length.
#include <stdio.h>
#include <stdlib.h>

static int count_marks(void)
{
    int c, marks = 0, length = 0;
    char *note = malloc(10);                                    // @note MA
    if (!note)
        return -1;
    while ((c = getchar()) != EOF && c != '\n') {
        length++;
        if (c == '#')
            marks++;
    }
    if (marks == 3 && length > marks)                           // @note BT
        return marks;                                           // @note LK = must-leak lost
    free(note);
    return 0;
}

int main(void)
{
    return count_marks() < 0;
}
