// A mail dialogue: states over several lines of standard input.
// options: --runs 60
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum state { START, GREETED, FROM, TO };

static char *address(const char *line)
{
    const char *open = strchr(line, '<');
    if (!open)
        return NULL;
    const char *close = strchr(open, '>');
    if (!close || close == open + 1)
        return NULL;
    char *text = malloc(close - open); // @x MA
    if (!text)
        return NULL;
    memcpy(text, open + 1, close - open - 1);
    text[close - open - 1] = 0;
    return text;
}

int main(void)
{
    char line[80];
    char *from = NULL, *to = NULL;
    enum state state = START;
    while (fgets(line, sizeof line, stdin)) {
        if (!strncasecmp(line, "HELO ", 5) && state == START)
            state = GREETED;
        else if (!strncasecmp(line, "MAIL FROM:", 10) && state == GREETED) {
            from = address(line + 10);
            if (from)
                state = FROM;
        } else if (!strncasecmp(line, "RCPT TO:", 8) && state >= FROM) {
            to = address(line + 8); // @x LK = must-leak lost gap
            state = TO;
        } else if (!strncasecmp(line, "RSET", 4)) {
            free(from);
            free(to);
            from = to = NULL;
            state = GREETED;
        } else if (!strncasecmp(line, "QUIT", 4))
            break;
    }
    free(from);
    free(to);
    return 0;
}
