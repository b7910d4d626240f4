// A cell is freed without the name it owns. Another place does it right.
// stdout: 3 cells placed, 2 dropped
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct cell {
    struct cell *next;
    char *name;
    int row, width;
};

static struct cell *read_cell(const char *name, int row) {
    struct cell *cell = calloc(1, sizeof *cell);

    cell->name = strdup(name);    // lost: 3 blocks, 21 bytes
    cell->row = row;
    cell->width = (int)strlen(cell->name);
    return cell;
}

static int place(struct cell *cells) {
    int placed = 0;

    while (cells != NULL) {
        struct cell *next = cells->next;
        printf("%s", cells->name[0] == '\0' ? "?" : "");    // last used
        placed += cells->width > 0;
        free(cells);    // leaks: holder-freed cells->name
        cells = next;
    }
    return placed;
}

int main(void) {
    static const char *const names[] = {"nand_1", "x", "latch7", "inv_22", "y"};
    struct cell *cells = NULL;
    int dropped = 0;

    for (int i = 0; i < 5; i++) {
        struct cell *cell = read_cell(names[i], i);
        if (cell->width < 2) {
            free(cell->name);    // frees: 2 blocks
            free(cell);
            dropped++;
            continue;
        }
        cell->next = cells;
        cells = cell;
    }
    int placed = place(cells);
    printf("%d cells placed, %d dropped\n", placed, dropped);
    return 0;
}
