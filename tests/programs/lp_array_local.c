// An array on the stack holds the columns of a line; two of the three are freed.
// valgrind -O2: differs: gcc inlines print_price: its array is one of main's, where the next line's columns are written over the first's
// lsan: differs: old words on the dead stack hide blocks
// stdout: tea costs 12
// stdout: ink costs 7
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 3 };

static int split(const char *line, char **columns) {
    for (int i = 0; i < COLUMNS; i++) {
        size_t length = strcspn(line, ";");
        columns[i] = strndup(line, length);    // lost: 2 blocks, 20 bytes
        line += length + (line[length] == ';');
    }
    return *line == '\0';
}

static int print_price(const char *line) {
    char *columns[COLUMNS];

    if (!split(line, columns))
        return -1;
    if (columns[2][0] != '\0')    // last used
        printf("%s costs %s\n", columns[0], columns[1]);
    free(columns[0]);     // frees: 2 blocks
    free(columns[1]);    // frees: 2 blocks
    return 0;    // leaks: scope-end columns[2]
}

int main(void) {
    static const char *const lines[] = {"tea;12;imported", "ink;7;blue-black"};

    for (int i = 0; i < 2; i++)
        if (print_price(lines[i]) != 0)
            return 1;
    return 0;
}
