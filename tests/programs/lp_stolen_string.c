// A parser takes a string out of its lexer, and loses it after it has used it: in optimised code a register has it, and what the lexer had died before.
// stdout: 2 keys
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct lexer {
    const char *p;
    char *text;
};

struct keys {
    char *names[8];
    int count;
};

static void scan(struct lexer *lexer) {
    size_t length = strcspn(lexer->p, " ");
    free(lexer->text);
    lexer->text = NULL;
    if (length == 0)
        return;
    lexer->text = strndup(lexer->p, length);    // lost: 1 block, 6 bytes
    lexer->p += length + (lexer->p[length] == ' ');
}

static char *steal(struct lexer *lexer) {
    char *text = lexer->text;
    lexer->text = NULL;
    return text;
}

__attribute__((noinline)) static int find(const struct keys *keys, const char *name) {
    for (int i = 0; i < keys->count; i++)
        if (strcmp(keys->names[i], name) == 0)    // last used
            return 1;
    return 0;
}

static int parse(struct lexer *lexer, struct keys *keys) {
    for (scan(lexer); lexer->text != NULL; scan(lexer)) {
        char *key = steal(lexer);
        if (find(keys, key)) return -1;    // leaks: scope-end key
        keys->names[keys->count++] = key;
    }
    return 0;
}

int main(void) {
    struct lexer lexer = {"alpha beta alpha gamma", NULL};
    struct keys keys = {.count = 0};

    parse(&lexer, &keys);
    printf("%d keys\n", keys.count);
    while (keys.count > 0)
        free(keys.names[--keys.count]);
    free(lexer.text);
    return 0;
}
