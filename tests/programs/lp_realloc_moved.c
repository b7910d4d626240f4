// A table of pointers is grown by realloc and moves; that loses nothing. Later the table is freed without its rows.
// stdout: 40 rows, 780
#include <stdio.h>
#include <stdlib.h>

struct row {
    int id;
    int cells[5];
};

struct table {
    struct row **rows;
    size_t length, capacity;
};

static struct row *add_row(struct table *table, int id) {
    if (table->length == table->capacity) {
        table->capacity = table->capacity == 0 ? 2 : table->capacity * 4;
        table->rows = realloc(table->rows, table->capacity * sizeof *table->rows);
    }
    struct row *row = calloc(1, sizeof *row);    // lost: 40 blocks, 960 bytes
    row->id = id;
    table->rows[table->length++] = row;
    return row;
}

static long sum(const struct table *table) {
    long total = 0;

    for (size_t i = 0; i < table->length; i++)
        total += table->rows[i]->id;    // last used
    return total;
}

static void clear(struct table *table) {
    free(table->rows);    // leaks: holder-freed ?
    table->rows = NULL;
    table->length = table->capacity = 0;
}

int main(void) {
    struct table table = {0};

    for (int i = 0; i < 40; i++)
        add_row(&table, i)->cells[0] = i;
    printf("%zu rows, %ld\n", table.length, sum(&table));
    clear(&table);
    return 0;
}
