// A token becomes a list, then a number: the number is written over the list's pointer, the count over a text's.
// valgrind -O2: differs: gcc drops the list and all stores but the last: both texts are results that nobody keeps
// valgrind-totals -O2: differs: gcc drops the list
// stdout: 42
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum kind { NONE, NUMBER, TEXT, LIST };

struct token {
    enum kind kind;
    union {
        double number;
        struct {
            size_t length;
            char *bytes;
        } text;
        struct {
            struct token *items;
            size_t count;
        } list;
    } u;
};

static void set_text(struct token *t, const char *s) {
    t->kind = TEXT;
    t->u.text.length = strlen(s);
    t->u.text.bytes = strdup(s);                                 // lost @text: 1 block, 6 bytes; indirect @list: 1 block, 3 bytes; last used @text
}

static void set_list(struct token *t, size_t count) {
    t->kind = LIST;
    t->u.list.items = calloc(count, sizeof *t->u.list.items);    // lost @list: 1 block, 48 bytes
    t->u.list.count = count;                                     // leaks @text: overwritten t->u.text.bytes
}

static void set_number(struct token *t, double number) {
    t->kind = NUMBER;
    t->u.number = number;                                        // leaks @list: overwritten t->u.list.items
}

int main(void) {
    struct token t = {0};
    set_text(&t, "hello");
    set_list(&t, 2);
    set_text(&t.u.list.items[0], "hi");
    set_number(&t, 42);
    printf("%g\n", t.u.number);
    return 0;
}
