// A function drops an argument from the stack and jumps to its own end, where a register of the caller's is restored:
// its frame is there until then.
// stdout: 6 of 89
#include <stdio.h>
#include <stdlib.h>

struct page {
    int drawn, total, most;
    int marks[8];
    void (*draw)(struct page *, int, int, int, int, int, int);
    void (*skip)(struct page *);
};

static void draw(struct page *page, int a, int b, int c, int d, int e, int f) {
    page->total += a + b + c + d + e + f;
}

static void skip(struct page *page) {
    page->total--;
}

__attribute__((noinline)) static void place(struct page *page, const int *v) {
    if (__builtin_expect(v[0] > 0, 0))
        page->draw(page, v[0], v[1], v[2], v[3], v[4], v[5]);    // last used
    else
        page->skip(page);
    page->marks[page->drawn & 7] = page->total;
    if (page->total > page->most)
        page->most = page->total;
    page->drawn++;
}

__attribute__((noinline)) static void place_all(struct page *page, const int (*v)[6], int count) {
    for (int i = 0; i < count; i++)
        place(page, v[i]);
}

int (*table)[6];

int main(void) {
    struct page *page = calloc(1, sizeof *page);

    table = calloc(6, sizeof *table);    // lost: 1 block, 144 bytes
    page->draw = draw;
    page->skip = skip;
    for (int i = 0; i < 36; i++)
        table[i / 6][i % 6] = i % 7;
    place_all(page, table, 6);
    table = NULL;    // leaks: overwritten table
    printf("%d of %d\n", page->drawn, page->most);
    free(page);
    return 0;
}
