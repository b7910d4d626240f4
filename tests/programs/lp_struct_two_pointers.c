// A parser returns two pointers by value; one caller drops both, another one of them.
// valgrind -O2: differs: gcc has the value in the second register of results alone, which is not followed: its last use is told
// stdout: key colour
// stdout: ok
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct pair {
    char *key;
    char *value;
};

static struct pair split(const char *line) {
    struct pair pair = {0};
    const char *eq = strchr(line, '=');
    pair.key = strndup(line, (size_t)(eq - line));    // lost @dropped: 1 block, 5 bytes
    pair.value = strdup(eq + 1);                      // lost @dropped: 1 block, 4 bytes; lost @value: 1 block, 4 bytes
    return pair;
}

static void show_key(const char *line) {
    struct pair pair = split(line);
    printf("key %s\n", pair.key);
    free(pair.key);
}                                                     // leaks @value: scope-end pair.value

static int is_valid(const char *line) {
    if (!strchr(line, '='))
        return 0;
    split(line);                                      // leaks @dropped: discarded
    return 1;
}

int main(void) {
    show_key("colour=red");
    if (is_valid("size=big"))
        puts("ok");
    struct pair kept = split("a=b");
    free(kept.key);
    free(kept.value);
    return 0;
}
