// Values of a script: a number is stored over the pointer to a text, and is smaller than it; so is the first of a pair.
// valgrind-variable -O0: differs: a store of half a word has no name for what was there
// valgrind -O2: differs: gcc drops the store of the pointer, over which the number is written
// stdout: 7 9 end
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct value {
    enum { NUMBER, RANGE, TEXT } type;
    union {
        int number;
        struct {
            int from, to;
        } range;
        char *text;
    } as;
};

static void set_number(struct value *value, int number) {
    value->type = NUMBER;
    value->as.number = number;      // leaks @number: overwritten value->as.text
}

static void set_range(struct value *value, int from, int to) {
    value->type = RANGE;
    value->as.range.from = from;    // leaks @range: overwritten value->as.text
    value->as.range.to = to;
}

static void set_text(struct value *value, const char *text) {
    value->type = TEXT;
    value->as.text = strdup(text);  // lost @number: 1 block, 6 bytes; lost @range: 1 block, 7 bytes; last used @number; last used @range
}

int main(void) {
    struct value *values = calloc(3, sizeof *values);

    set_text(&values[0], "first");
    set_text(&values[1], "end");
    set_text(&values[2], "second");
    set_number(&values[0], 7);
    set_range(&values[2], 5, 9);
    printf("%d %d %s\n", values[0].as.number, values[2].as.range.to, values[1].as.text);
    free(values[1].as.text);
    free(values);
    return 0;
}
