// A function that returns a pointer loses one in its loop, before it is known what it returns.
// valgrind: differs: gcc leaves no instruction where the body of a loop ends: the last statement that ran is told; at -O2 value is in the register for results, and its last use is told
// stdout: none
#include <stdio.h>
#include <stdlib.h>

struct value {
    int number;
    struct value *next;
};

struct source {
    const int *numbers;
    int count, has_error;
};

static struct value *value_new(struct source *source) {
    int number = *source->numbers++;
    struct value *value;

    if (number < 0) {
        source->has_error = 1;
        return NULL;
    }
    value = malloc(sizeof *value);      // lost: 2 blocks, 32 bytes
    value->number = number;
    value->next = NULL;
    return value;
}

static struct value *read_all(struct source *source) {
    struct value *list = NULL;

    while (source->count-- > 0) {
        struct value *value;

        if (source->numbers == NULL)
            goto error;
        value = value_new(source);
        if (value == NULL)
            continue;
        if (!source->has_error) {
            value->next = list;
            list = value;
        }
    }                                   // leaks: scope-end value
    if (!source->has_error)
        return list;
error:
    while (list != NULL) {
        struct value *next = list->next;
        free(list);                     // frees: 1 block
        list = next;
    }
    return NULL;
}

int main(void) {
    static const int numbers[] = {1, -1, 7, 8};
    struct source source = {numbers, 4, 0};

    puts(read_all(&source) == NULL ? "none" : "some");
    return 0;
}
