// key=value lines; a known key with a large value replaces the old copy.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *title;

static void assign(char *line)
{
    char *value = strchr(line, '=');
    if (!value)
        return;
    *value++ = 0;
    if (strcmp(line, "title") != 0)
        return;
    char *copy = strdup(value);                                 // @title MA
    if (!copy)
        return;
    if (title)                                                  // @title BT
        title = NULL;                                           // @title LK = must-leak lost
    title = copy;
}

int main(void)
{
    char line[32];
    while (fgets(line, sizeof line, stdin))
        assign(line);
    free(title);
    return 0;
}
