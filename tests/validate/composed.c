// Texts that are put together from the input, or changed, before they are compared; and a leak point
// that only sets a local.
// options: --runs 60
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void look(const char *section, const char *key, const char *value)
{
    char name[48];
    snprintf(name, sizeof name, "%s.%s", section, key);
    char *text = malloc(8);                                     // @key MA; @command MA
    if (!text)
        return;
    if (!strcmp(name, "server.timeout") && atoi(value) > 500) {
        puts("long");
        text = NULL;                                            // @key LK = must-leak lost
    }
    for (char *at = name; *at; at++)
        *at = (char)toupper((unsigned char)*at);
    if (!strcmp(strchr(name, '.'), ".RESTART"))
        return;                                                 // @command LK = must-leak lost
    free(text);
}

int main(void)
{
    char line[64], section[24] = "main";
    while (fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\n")] = 0;
        char *end = strchr(line, line[0] == '[' ? ']' : '=');
        if (!end || end - line > 20)
            continue;
        *end = 0;
        if (line[0] == '[')
            strcpy(section, line + 1);
        else
            look(section, line, end + 1);
    }
    return 0;
}
