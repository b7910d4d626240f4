// Empty blocks: malloc(0) is a block like any other, and realloc(p, 0) frees as glibc does.
// lsan: differs: counts malloc(0) as one byte
#include <stdint.h>
#include <stdlib.h>

static void *volatile row;

static int empty_rows_are_distinct(void) {
    void *first = malloc(0);
    void *second = calloc(0, 16);
    int distinct = first != NULL && second != NULL && first != second;

    free(first);
    free(second);
    return distinct;
}

static void drop_empty_row(void) {
    row = malloc(0);    // lost: 1 block, 0 bytes
    row = NULL;
}

int main(void) {
    if (!empty_rows_are_distinct())
        return 1;
    drop_empty_row();
    row = malloc(48);
    volatile size_t none = 0;
    row = realloc(row, none);
    if (row != NULL)
        return 2;
    row = realloc(NULL, none);
    if (row == NULL)
        return 3;
    free(row);
    row = NULL;
    return 0;
}
