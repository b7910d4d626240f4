// The slot is overwritten by inline assembly: a plain move, as in a hand-written publish operation.
// valgrind-variable -O2: differs: gcc inlines publish, where slot is the address of visible
// stdout: page 2
#include <stdio.h>
#include <stdlib.h>

struct page {
    int number;
    char content[12];
};

static struct page *visible;

static void publish(struct page **slot, struct page *page) {
    __asm__ volatile("movq %1, %0" : "=m"(*slot) : "r"(page) : "memory");    // leaks: overwritten *slot
}

static void draw(int number) {
    struct page *page = calloc(1, sizeof *page);    // lost: 1 block, 16 bytes
    page->number = number;
    publish(&visible, page);
}

int main(void) {
    for (int number = 1; number <= 2; number++)
        draw(number);
    printf("page %d\n", visible->number);
    free(visible);    // frees: 1 block
    return 0;
}
