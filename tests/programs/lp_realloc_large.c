// A table of several hundred kilobytes grows where it cannot stay: what it holds goes with it, and a name that is replaced
// in the table's new place is lost there.
// valgrind -O2: differs: gcc inlines rename_at, and the variable is table.names[7]
// stdout: 131072 names, the last is n131071
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct table {
    char **names;
    size_t room;
    char *behind[8];
};

static int grow(struct table *table, size_t room) {
    char **names = realloc(table->names, room * sizeof *names);
    if (names == NULL)
        return -1;
    memset(names + table->room, 0, (room - table->room) * sizeof *names);
    table->names = names;
    table->room = room;
    return 0;
}

static char *name_of(size_t number) {
    char *name = malloc(16);                                             // lost: 1 block, 16 bytes
    if (name != NULL)
        snprintf(name, 16, "n%zu", number);
    return name;
}

static void rename_at(struct table *table, size_t at, char *name) {
    table->names[at] = name;                                             // leaks: overwritten table->names[at]
}

int main(void) {
    static struct table table;
    for (int step = 0; step < 3; step++) {
        size_t before = table.room;
        if (grow(&table, before ? before * 2 : 32768) != 0)
            return 1;
        // Right behind the table, so that it has to move.
        table.behind[step] = malloc(100000);
        for (size_t at = before; at < table.room; at++)
            table.names[at] = name_of(at);
    }
    rename_at(&table, 7, name_of(7));
    printf("%zu names, the last is %s\n", table.room, table.names[table.room - 1]);
    for (size_t at = 0; at < table.room; at++) {
        char expected[16];
        snprintf(expected, sizeof expected, "n%zu", at);
        if (strcmp(table.names[at], expected) != 0)
            return 2;
        free(table.names[at]);
    }
    for (int step = 0; step < 3; step++)
        free(table.behind[step]);
    free(table.names);
    return 0;
}
