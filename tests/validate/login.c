// A session over lines: HELO name, AUTH secret, then GET/PUT; QUIT.
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum state { START, NAMED, TRUSTED, DONE };

struct session {
    enum state state;
    char *name;
    char *last;
    int tries;
};

static char *copy(const char *s)
{
    char *c = malloc(strlen(s) + 1); // @last MA
    if (c)
        strcpy(c, s);
    return c;
}

static void step(struct session *s, char *line)
{
    char *arg = strchr(line, ' ');
    if (arg)
        *arg++ = 0;
    for (char *p = line; *p; p++)
        *p = toupper((unsigned char)*p);
    switch (s->state) {
    case START:
        if (!strcmp(line, "HELO") && arg && *arg) {
            s->name = copy(arg);
            s->state = NAMED;
        }
        break;
    case NAMED:
        if (!strcmp(line, "AUTH") && arg) {
            if (!strcmp(arg, "sesame"))
                s->state = TRUSTED;
            else if (++s->tries == 2)
                s->state = DONE;
        }
        break;
    case TRUSTED:
        if (!strcmp(line, "GET") && arg) {
            s->last = copy(arg); // @last LK = must-leak lost
        } else if (!strcmp(line, "PUT")) {
            printf("%s\n", s->last ? s->last : "none");
        } else if (!strcmp(line, "QUIT"))
            s->state = DONE;
        break;
    case DONE:
        break;
    }
}

int main(void)
{
    struct session s = { START, NULL, NULL, 0 };
    char line[40];
    while (s.state != DONE && fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\n")] = 0;
        step(&s, line);
    }
    printf("%s: %d\n", s.name ? s.name : "nobody", s.state);
    free(s.name);
    free(s.last);
    return 0;
}
