// The record that is shown becomes the current one by memcpy, over the title that the former one owned.
// valgrind -O2: differs: gcc drops all of the structs and copies: the first title is a result that nobody keeps
// stdout: now: chapter two (31 pages)
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct chapter {
    int pages;
    char *title;
    struct chapter *next;
};

static void chapter_open(struct chapter *chapter, const char *title, int pages) {
    chapter->pages = pages;
    chapter->title = strdup(title);    // lost: 1 block, 12 bytes
    chapter->next = NULL;
}

static void show(struct chapter *current, const struct chapter *chapter) {
    memcpy(current, chapter, sizeof *current);    // leaks: overwritten current->title
}

static void read_book(struct chapter *current) {
    static const char *const titles[] = {"chapter one", "chapter two"};
    static const int pages[] = {12, 31};

    for (int i = 0; i < 2; i++) {
        struct chapter chapter;
        chapter_open(&chapter, titles[i], pages[i]);
        show(current, &chapter);
    }
}

int main(void) {
    struct chapter current = {.title = NULL};

    read_book(&current);
    printf("now: %s (%d pages)\n", current.title, current.pages);
    free(current.title);    // frees: 1 block
    return 0;
}
