// A session: each command is understood only behind the one before.
// options: --runs 100
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *word(char **line)
{
    char *start = *line + strspn(*line, " \n");
    char *end = start + strcspn(start, " \n");
    *line = *end ? end + 1 : end;
    *end = 0;
    return start;
}

int main(void)
{
    char line[128], *file = NULL;
    int state = 0, lines = 0;
    while (fgets(line, sizeof line, stdin)) {
        char *at = line, *verb = word(&at);
        if (!strcmp(verb, "HELLO") && state == 0) {
            state = 1;
        } else if (!strcmp(verb, "USER") && state == 1) {
            state = *word(&at) ? 2 : 0;
        } else if (!strcmp(verb, "OPEN") && state == 2) {
            file = strdup(word(&at)); // @empty MA; @closed MA
            state = 3;
            lines = 0;
        } else if (!strcmp(verb, "LINE") && state == 3) {
            lines++;
        } else if (!strcmp(verb, "CLOSE") && state == 3) {
            state = 2;
            if (lines == 0)
                file = NULL; // @empty LK = must-leak lost
            if (file)
                puts(file); // @closed LK = likely-not-leak
            free(file);
            file = NULL;
        } else {
            break;
        }
    }
    free(file);
    return 0;
}
