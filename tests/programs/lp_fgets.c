// A cell keeps short text in place and long text by pointer; fgets reads a short line over the pointer.
// valgrind-variable -O2: differs: gcc inlines read_short, where cell is the address of main's cell
// stdin: a note that is far too long to be kept in the cell itself
// stdin: short
// stdout: 1 long, 1 short, last: short
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct cell {
    int is_long;
    union {
        char near[24];
        char *far;
    } text;
};

static void set_long(struct cell *cell, const char *text) {
    cell->is_long = 1;
    cell->text.far = strdup(text);    // lost: 1 block, 58 bytes; last used
}

static int read_long(struct cell *cell) {
    char line[128];

    if (fgets(line, sizeof line, stdin) == NULL)
        return 0;
    line[strcspn(line, "\n")] = '\0';
    set_long(cell, line);
    return 1;
}

static int read_short(struct cell *cell) {
    if (fgets(cell->text.near, sizeof cell->text.near, stdin) == NULL)    // leaks: overwritten cell->text.far
        return 0;
    cell->text.near[strcspn(cell->text.near, "\n")] = '\0';
    cell->is_long = 0;
    return 1;
}

int main(void) {
    struct cell cell = {0};
    int longs = read_long(&cell), shorts = read_short(&cell);

    printf("%d long, %d short, last: %s\n", longs, shorts, cell.is_long ? cell.text.far : cell.text.near);
    return 0;
}
