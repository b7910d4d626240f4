// Short functions take the pointer out of where it was kept, and are inlined: it lives on in the caller.
// valgrind-totals -O2: differs: gcc drops the calloc of the text, whose length it knows
// valgrind: differs: a result that was in a variable before counts as overwritten by what it is passed to
// stdout: user=ada
// stdout: 2 left, first 3 bytes
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct text {
    char *bytes;
    size_t length;
};

static struct text *pending;

static void text_set(struct text *text, const char *key, const char *value) {
    text->length = strlen(key) + strlen(value) + 1;
    text->bytes = malloc(text->length + 1);    // lost @line: 1 block, 9 bytes
    snprintf(text->bytes, text->length + 1, "%s=%s", key, value);
}

static char *text_detach(struct text *text) {
    char *bytes = text->bytes;
    text->bytes = NULL;
    text->length = 0;
    return bytes;
}

static char *describe(const char *user) {
    struct text text = {NULL, 0};
    text_set(&text, "user", user);
    return text_detach(&text);
}

static void set_pending(struct text *text) {
    pending = text;
}

static size_t take_pending(void) {
    struct text *text = pending;
    set_pending(NULL);
    size_t length = text->length;    // last used @text
    return length;                   // leaks @text: scope-end text
}

int main(void) {
    puts(describe("ada"));    // last used @line; leaks @line: discarded
    struct text *text = calloc(1, sizeof *text);    // lost @text: 1 block, 16 bytes
    text->length = 3;
    set_pending(text);
    text = NULL;
    size_t length = take_pending();
    printf("2 left, first %zu bytes\n", length);
    return 0;
}
