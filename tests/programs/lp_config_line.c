// A line of a configuration file is split into copies of key and value; the path for a bad value frees the value alone.
// valgrind -O2: differs: gcc inlines add_line: key is in a register until main loads the next line into it
// stdout: 2 settings, 1 bad line
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct setting {
    char *key;
    long value;
    struct setting *next;
};

static struct setting *settings;

static int add_line(const char *line) {
    const char *equals = strchr(line, '=');
    char *key = strndup(line, (size_t)(equals - line));    // lost: 1 block, 6 bytes
    char *text = strdup(equals + 1), *end;
    long value = strtol(text, &end, 10);

    if (*end != '\0') {
        fprintf(stderr, "%s: not a number\n", key);    // last used
        free(text);
        return -1;    // leaks: scope-end key
    }
    free(text);
    struct setting *setting = malloc(sizeof *setting);
    *setting = (struct setting){key, value, settings};
    settings = setting;
    return 0;
}

static int drop_all(void) {
    int count = 0;

    while (settings != NULL) {
        struct setting *next = settings->next;
        free(settings->key);    // frees: 2 blocks
        free(settings);
        settings = next;
        count++;
    }
    return count;
}

int main(void) {
    static const char *const lines[] = {"width=80", "depth=deep", "height=25"};
    int bad = 0;

    for (int i = 0; i < 3; i++)
        if (add_line(lines[i]) != 0)
            bad++;
    int count = drop_all();
    printf("%d settings, %d bad line\n", count, bad);
    return 0;
}
