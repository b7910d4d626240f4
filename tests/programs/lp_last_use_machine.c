// A small machine with computed gotos reads cells of blocks of several sizes; an end that lies just behind its block is no use of the next one.
// stdout: 40
#include <stdio.h>
#include <stdlib.h>

enum { HALT, PUSH, ADD, STORE, FETCH, OTHER };

struct machine {
    int *top;    // behind the last cell that is in use
    int *cells;
};

static int *banks[2];
static struct machine machine;
static char *neighbours[3];

__attribute__((noinline)) static int run(struct machine *on, const unsigned char *code) {
    static const void *const ways[] = {&&halt, &&push, &&add, &&store, &&fetch, &&other};
    int *top = on->top, *bank = banks[0];

    goto *ways[*code++];
push:
    *top++ = *code++;
    goto *ways[*code++];
add:
    top--;
    top[-1] += *top;    // last used @cells
    goto *ways[*code++];
store:
    bank[*code++] = 9;
    goto *ways[*code++];
fetch:
    *top++ = bank[*code++];    // last used @first; last used @second
    goto *ways[*code++];
other:
    bank = banks[*code++];
    goto *ways[*code++];
halt:
    return (int)(top - on->cells);
}

__attribute__((noinline)) static int sum(const int *end, const int *start) {
    int all = 0;

    while (end != start)
        all += *--end;    // last used @full
    return all;
}

static int *row, *row_end;

int main(void) {
    static const unsigned char program[] = {STORE, 10, PUSH, 2, FETCH, 10, OTHER, 1, STORE, 200, FETCH, 200, ADD, ADD, HALT};

    machine.cells = calloc(4, sizeof(int));                  // forgotten @cells: 1 block, 16 bytes
    banks[0] = calloc(64, sizeof(int));                      // forgotten @first: 1 block, 256 bytes
    banks[1] = calloc(100000, sizeof(int));                  // forgotten @second: 1 block, 400000 bytes
    machine.top = machine.cells;
    row = malloc(16 * sizeof(int));                          // forgotten @full: 1 block, 64 bytes
    for (int i = 0; i < 3; i++) {
        neighbours[i] = malloc(64);                          // forgotten @next: 3 blocks, 192 bytes
        neighbours[i][0] = (char)i;                          // last used @next
    }
    for (int i = 0; i < 16; i++)
        row[i] = 1;
    row_end = row + 16;
    printf("%d\n", run(&machine, program) * 24 + sum(row_end, row));
    return 0;
}
