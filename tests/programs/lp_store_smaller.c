// Values of a script: a number is stored over the pointer to a text, and is smaller than it.
// valgrind-variable -O0: differs: a store of half a word has no name for what was there
// valgrind -O2: differs: gcc drops the store of the pointer, over which the number is written
// stdout: 7 end
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct value {
    enum { NUMBER, TEXT } type;
    union {
        int number;
        char *text;
    } as;
};

static void set_number(struct value *value, int number) {
    value->type = NUMBER;
    value->as.number = number;      // leaks: overwritten value->as.text
}

static void set_text(struct value *value, const char *text) {
    value->type = TEXT;
    value->as.text = strdup(text);  // lost: 1 block, 6 bytes; last used
}

int main(void) {
    struct value *values = calloc(2, sizeof *values);

    set_text(&values[0], "first");
    set_text(&values[1], "end");
    set_number(&values[0], 7);
    printf("%d %s\n", values[0].as.number, values[1].as.text);
    free(values[1].as.text);
    free(values);
    return 0;
}
