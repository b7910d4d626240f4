// A variant changes from text to number: the number is stored over the pointer to the text.
// valgrind -O2: differs: gcc drops title, whose value it knows: the text is a result that nobody keeps
// stdout: width 80
// stdout: title 12.5
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct value {
    enum { NOTHING, NUMBER, TEXT } type;
    union {
        double number;
        char *text;
    } as;
};

struct setting {
    const char *name;
    struct value value;
};

static void set_number(struct value *value, double number) {
    value->type = NUMBER;
    value->as.number = number;    // leaks: overwritten value->as.text
}

static void set_text(struct value *value, const char *text) {
    if (value->type == TEXT)
        free(value->as.text);
    value->type = TEXT;
    value->as.text = strdup(text);    // lost: 1 block, 11 bytes; last used
}

static void print(const struct setting *setting) {
    if (setting->value.type == TEXT)
        printf("%s %s\n", setting->name, setting->value.as.text);
    else
        printf("%s %g\n", setting->name, setting->value.as.number);
}

int main(void) {
    struct setting width = {.name = "width"}, title = {.name = "title"};

    set_number(&width.value, 80);
    set_text(&title.value, "report one");
    set_number(&title.value, 12.5);
    print(&width);
    print(&title);
    return 0;
}
