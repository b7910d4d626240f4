// Each kind of value has its own way to be freed when its count is zero; that of arrays forgets the value itself.
// options: --explain
// valgrind: differs: the last pointer goes with the variable of the caller
// stdout: freed 1 1
#include <stdio.h>
#include <stdlib.h>

struct value {
    int kind;
    int ref_count;
    int *items;
};

static struct value *value_new(int kind)
{
    struct value *value = calloc(1, sizeof *value); // lost: 1 block, 16 bytes; counted: 0 references, 0 holders
    value->kind = kind;
    value->ref_count = 1;
    value->items = malloc(8 * sizeof *value->items);
    return value;
}

static void delete_plain(struct value *value)
{
    free(value->items);
    free(value);
}

static void delete_array(struct value *value)
{
    value->items[0] = 0;
    free(value->items); // leaks: not-released ?
}

static int value_put(struct value *value)
{
    if (--value->ref_count > 0)
        return 0;
    switch (value->kind) {
    case 1:
        delete_array(value);
        break;
    default:
        delete_plain(value);
        break;
    }
    return 1;
}

int main(void)
{
    struct value *plain = value_new(0), *array = value_new(1);
    int one = value_put(plain);
    int two = value_put(array);
    printf("freed %d %d\n", one, two);
    return 0;
}
