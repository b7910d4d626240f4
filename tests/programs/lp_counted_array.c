// Texts that begin with no reference and are kept in arrays that grow: one is replaced in an array, and not dropped.
// engines: track valgrind
// valgrind -O2: differs: gcc inlines it all, and in registers: a function stands for the variables that it has there
// options: --explain
// stdout: 14 letters
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct text {
    int uses;
    int length;
    char letters[16];
};

struct array {
    struct text **items;
    int count, room;
};

static struct text *text_new(const char *letters) {
    struct text *text = malloc(sizeof *text); // lost: 1 block, 24 bytes; counted: 2 references, 1 holder
    text->uses = 0;
    text->length = (int)strlen(letters);
    strcpy(text->letters, letters);
    return text;
}

static struct text *text_use(struct text *text) {
    text->uses++;
    return text;
}

static void text_drop(struct text *text) {
    if (--text->uses <= 0)
        free(text);
}

static void array_push(struct array *array, struct text *text) {
    if (array->count == array->room) {
        array->room = array->room ? array->room * 2 : 2;
        array->items = realloc(array->items, array->room * sizeof *array->items);
    }
    array->items[array->count++] = text_use(text);
}

static void array_replace(struct array *array, int index, struct text *text) {
    array->items[index] = text_use(text); // leaks: overwritten array->items[index]
}

static void array_clear(struct array *array) {
    for (int i = 0; i < array->count; i++) {
        struct text *text = array->items[i];
        array->items[i] = NULL;
        text_drop(text);
    }
    free(array->items);
}

int main(void) {
    struct array all = {0}, some = {0};
    const char *words[] = {"a", "be", "see", "dee", "e"};
    for (int i = 0; i < 5; i++) {
        struct text *text = text_new(words[i]);
        array_push(&all, text);
        if (i % 2 == 1)
            array_push(&some, text);
    }
    int letters = 0;
    for (int i = 0; i < all.count; i++)
        letters += all.items[i]->length;
    array_replace(&some, 0, all.items[0]);
    for (int i = 0; i < some.count; i++)
        letters += some.items[i]->length;
    array_clear(&all);
    array_clear(&some);
    printf("%d letters\n", letters);
    return 0;
}
