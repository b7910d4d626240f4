// A board of pointers is reset by assigning an empty one: the compiler makes a block copy of it.
// stdout: 3 pieces, then 0
#include <stdio.h>
#include <stdlib.h>

enum { SIDE = 8 };

struct piece {
    char kind;
    int moves;
};

struct board {
    int turn;
    struct piece *squares[SIDE][SIDE];
};

static void put(struct board *board, int column, int row, char kind) {
    struct piece *piece = calloc(1, sizeof *piece);    // lost: 3 blocks, 24 bytes
    piece->kind = kind;
    board->squares[row][column] = piece;
}

static int count(const struct board *board) {
    int pieces = 0;

    for (int row = 0; row < SIDE; row++)
        for (int column = 0; column < SIDE; column++)
            if (board->squares[row][column] != NULL)
                pieces += board->squares[row][column]->kind != ' ';    // last used
    return pieces;
}

static void reset(struct board *board) {
    static const struct board empty;

    *board = empty;    // leaks: overwritten ?
}

int main(void) {
    static struct board board;

    for (int i = 0; i < 3; i++)
        put(&board, i, 2 * i, "KQR"[i]);
    printf("%d pieces", count(&board));
    reset(&board);
    printf(", then %d\n", count(&board));
    return 0;
}
