// A name between brackets, in a copy that ends where the bracket was: a longer one must be put in.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void)
{
    char line[64];
    if (!fgets(line, sizeof line, stdin) || line[0] != '[')
        return 1;
    char *end = strchr(line, ']');
    if (!end)
        return 1;
    *end = 0;
    char *name = strdup(line + 1);
    char *section = malloc(16); // @x MA
    if (!name || !section) {
        free(name);
        free(section);
        return 1;
    }
    int is_server = strcmp(name, "server") == 0;
    free(name);
    if (is_server)
        return 2; // @x LK = must-leak lost
    free(section);
    return 0;
}
