// A return two loops and a block deep ends the life of a local of the innermost block.
// valgrind -O2: differs: gcc inlines find_wall: tile is in registers that the call of printf in main needs
// gap: -O2: the optimiser leaves no use on the line
// stdout: wall at 2,1
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const rows[] = {"....", "..#.", "...."};

static int is_wall(const char *tile) {
    return strcmp(tile, "#") == 0;    // last used
}

static int find_wall(int *column, int *row) {
    for (int y = 0; y < 3; y++) {
        for (int x = 0; x < 4; x++) {
            if (rows[y][x] != ' ') {
                char *tile = strndup(&rows[y][x], 1);    // lost: 1 block, 2 bytes
                if (is_wall(tile)) {
                    *column = x;
                    *row = y;
                    return 1;    // leaks: scope-end tile
                }
                free(tile);    // frees: 6 blocks
            }
        }
    }
    return 0;
}

int main(void) {
    int column = 0, row = 0;

    if (!find_wall(&column, &row))
        return 1;
    printf("wall at %d,%d\n", column, row);
    return 0;
}
