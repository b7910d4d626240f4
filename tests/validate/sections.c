// Sections and keys; the same key twice in one section loses its first value.
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct item {
    char section[16], key[16];
    char *value;
};

static struct item items[8];
static int count;

static char *trim(char *s)
{
    while (isspace((unsigned char)*s))
        s++;
    char *end = s + strlen(s);
    while (end > s && isspace((unsigned char)end[-1]))
        *--end = 0;
    return s;
}

static void set(const char *section, const char *key, const char *value)
{
    char *copy = strdup(value); // @x MA
    if (!copy)
        return;
    for (int i = 0; i < count; i++)
        if (!strcmp(items[i].section, section) && !strcmp(items[i].key, key)) {
            items[i].value = copy; // @x LK = must-leak lost
            return;
        }
    if (count == 8) {
        free(copy);
        return;
    }
    snprintf(items[count].section, 16, "%s", section);
    snprintf(items[count].key, 16, "%s", key);
    items[count++].value = copy;
}

int main(void)
{
    char line[64], section[16] = "";
    while (fgets(line, sizeof line, stdin)) {
        char *s = trim(line);
        if (*s == '[') {
            char *end = strchr(s, ']');
            if (!end)
                break;
            *end = 0;
            snprintf(section, sizeof section, "%s", s + 1);
        } else if (*s && *s != ';') {
            char *eq = strchr(s, '=');
            if (!eq)
                break;
            *eq = 0;
            if (*section)
                set(section, trim(s), trim(eq + 1));
        }
    }
    for (int i = 0; i < count; i++)
        free(items[i].value);
    return 0;
}
