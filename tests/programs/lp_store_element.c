// A direct-mapped cache puts the new entry over one with the same slot, and forgets to drop that one first.
// valgrind-variable -O2: differs: gcc has the address of cache in a register from before the loop, and no variable is there
// stdout: 1 hit, 5 misses
#include <stdio.h>
#include <stdlib.h>

enum { SLOTS = 4 };

struct entry {
    unsigned long key;
    double value;
};

static struct entry *cache[SLOTS];
static int hits, misses;

static double square_root(unsigned long number) {
    double guess = number;

    for (int i = 0; i < 30 && guess > 0; i++)
        guess = (guess + number / guess) / 2;
    return guess;
}

static double cached_root(unsigned long number) {
    unsigned long slot = number % SLOTS;
    struct entry *entry = cache[slot];

    if (entry != NULL && entry->key == number) {    // last used
        hits++;
        return entry->value;
    }
    misses++;
    entry = malloc(sizeof *entry);    // lost: 2 blocks, 32 bytes
    entry->key = number;
    entry->value = square_root(number);
    cache[slot] = entry;              // leaks: overwritten cache[slot]
    return entry->value;
}

int main(void) {
    static const unsigned long numbers[] = {9, 2, 13, 13, 3, 21};
    double sum = 0;

    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        sum += cached_root(numbers[i]);
    printf("%d hit, %d misses\n", hits, misses);
    for (int i = 0; i < SLOTS; i++)
        free(cache[i]);    // frees: 3 blocks
    return sum > 0 ? 0 : 1;
}
