// Pointers carry a colour in their lowest bit, so that most words in memory point one byte into their block.
// variants: -O0 -O2
// memcheck: differs: counts blocks that only a tagged, so interior, pointer holds as possibly lost
// stdout: 2 red, 1 black
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { BLACK = 0, RED = 1 };

struct leaf {
    uintptr_t next;
    int key;
};

static uintptr_t leaves;

static struct leaf *untagged(uintptr_t word) {
    return (struct leaf *)(word & ~(uintptr_t)1);
}

static void add_leaf(int key, unsigned colour) {
    struct leaf *leaf = malloc(sizeof *leaf);    // forgotten: 3 blocks, 48 bytes

    leaf->key = key;
    leaf->next = leaves;
    leaves = (uintptr_t)leaf | colour;
}

static int count(unsigned colour) {
    int count = 0;

    for (uintptr_t word = leaves; untagged(word) != NULL; word = untagged(word)->next)
        count += (word & 1) == colour;
    return count;
}

int main(void) {
    for (int i = 0; i < 3; i++)
        add_leaf(i, i % 2 == 0 ? RED : BLACK);
    printf("%d red, %d black\n", count(RED), count(BLACK));
    return 0;
}
