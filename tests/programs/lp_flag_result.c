// A function returns a flag in the register in which it had a pointer: with its last byte cleared, that looks like a pointer to the lost block.
// valgrind-variable -O2: differs: gcc has the address of the element in a register alone
// stdout: 0 empty
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { COUNT = 64 };

struct range {
    const char *start;
    const char *end;
};

static bool is_empty(const struct range *range) {
    return range->start == range->end;
}

static void look(const struct range *range) {
    if (is_empty(range))
        puts("nothing");
}

static int counted(int count, bool more) {
    return more ? count + 1 : count;
}

static int pages(char **blocks) {
    for (int i = 0; i < COUNT; i++) {
        blocks[i] = malloc(24);                              // lost: 1 block, 24 bytes
        blocks[i][0] = (char)i;                              // last used
    }
    int at = 0;
    while ((uintptr_t)blocks[at] % 256 != 0 || (uintptr_t)blocks[at + 1] / 256 != (uintptr_t)blocks[at] / 256)
        at++;
    blocks[at] = NULL;                                       // leaks: overwritten blocks[at]
    return at;
}

int main(void) {
    char *blocks[COUNT + 1] = {0};
    int at = pages(blocks);
    struct range range = {blocks[at + 2], blocks[at + 1]};
    int empty = 0;
    for (int i = 0; i < 3; i++)
        empty = counted(empty, is_empty(&range));
    look(&range);
    printf("%d empty\n", empty);
    for (int i = 0; i < COUNT; i++)
        free(blocks[i]);                                     // frees: 63 blocks
    return 0;
}
