// A local of an inner block ends with the block, while the function goes on.
// valgrind: differs: gcc leaves no instruction where the scope of a block ends: the last statement in it is told
// stdout: key=colour value=blue
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct pair {
    char key[16];
    char value[16];
};

static int parse_pair(const char *text, struct pair *pair) {
    const char *equals = strchr(text, '=');

    if (equals == NULL)
        return -1;
    {
        char *key = strndup(text, (size_t)(equals - text));    // lost: 1 block, 7 bytes
        size_t length = strcspn(key, " ");
        snprintf(pair->key, sizeof pair->key, "%.*s", (int)length, key);    // last used
    }    // leaks: scope-end key
    {
        char *value = strdup(equals + 1);
        snprintf(pair->value, sizeof pair->value, "%s", value);
        free(value);
    }
    return 0;
}

int main(void) {
    struct pair pair;

    if (parse_pair("colour=blue", &pair) != 0)
        return 1;
    printf("key=%s value=%s\n", pair.key, pair.value);
    return 0;
}
