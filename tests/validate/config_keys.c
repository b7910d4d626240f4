// Two keys of one section, in a file that the program names itself: one word must come beside another.
// options: --runs 400
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct setting {
    char section[16], key[16], value[32];
};

static struct setting settings[8];
static int count;

static const char *lookup(const char *section, const char *key)
{
    for (int i = 0; i < count; i++)
        if (!strcmp(settings[i].section, section) && !strcmp(settings[i].key, key))
            return settings[i].value;
    return NULL;
}

int main(void)
{
    char line[64], section[16] = "";
    FILE *f = fopen("server.conf", "r");
    if (!f)
        return 1;
    while (count < 8 && fgets(line, sizeof line, f)) {
        struct setting *s = &settings[count];
        if (sscanf(line, "[%15[^]]]", section) == 1)
            continue;
        if (sscanf(line, "%15[^=]=%31s", s->key, s->value) != 2)
            break;
        strcpy(s->section, section);
        count++;
    }
    fclose(f);
    const char *host = lookup("net", "host"), *port = lookup("net", "port");
    if (host && port) {
        char *url = malloc(80); // @x MA
        if (!url)
            return 1;
        sprintf(url, "%s:%s", host, port);
        puts(url);
        return 0; // @x LK = must-leak lost
    }
    return 0;
}
