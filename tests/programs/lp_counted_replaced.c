// Shared strings with a count in a side table; replacing an attribute takes a reference and drops none.
// valgrind -O2: differs: gcc inlines it all, and in registers: a function stands for the variables that it has there
// stdout: 3
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct str {
    unsigned refs;
    size_t length;
    char text[];
};

static struct str *str_new(const char *s) {
    size_t n = strlen(s);
    struct str *new = malloc(sizeof *new + n + 1);    // lost: 1 block, 20 bytes; counted: 1 reference, 0 holders
    new->refs = 1;
    new->length = n;
    memcpy(new->text, s, n + 1);
    return new;
}

static struct str *str_get(struct str *s) {
    s->refs++;
    return s;
}

static void str_put(struct str *s) {
    if (s && --s->refs == 0)
        free(s);
}

struct element {
    struct str *name, *id;
};

static void set_id(struct element *e, struct str *id) {
    struct str *old = e->id;
    e->id = str_get(id);
    if (old && old->length == 0)
        str_put(old);
}    // leaks: scope-end old

int main(void) {
    struct str *a = str_new("one"), *b = str_new("two");
    struct element e = {str_get(a), NULL};
    set_id(&e, a);
    str_put(a);
    str_put(e.name);
    set_id(&e, b);
    str_put(b);
    printf("%zu\n", e.id->length);
    str_put(e.id);
    return 0;
}
