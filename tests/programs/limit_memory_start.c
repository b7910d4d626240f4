// Started under a small limit of address space: the runtime falls back to what it gets.
// rlimit: as 268435456
// lsan: differs: cannot start under the limit
#include <stdlib.h>
#include <string.h>

struct cell {
    struct cell *next;
    char text[100];
};

static void lose_cell(void) {
    struct cell *cell = calloc(1, sizeof *cell);    // lost: 1 block, 112 bytes
    cell->text[0] = 'c';
    cell = NULL;
}

int main(void) {
    struct cell *cells = NULL;

    for (int i = 0; i < 100000; i++) {
        struct cell *cell = malloc(sizeof *cell);
        if (cell == NULL)
            return 1;
        cell->next = cells;
        cells = cell;
    }
    while (cells != NULL) {
        struct cell *next = cells->next;
        free(cells);
        cells = next;
    }
    lose_cell();
    return 0;
}
