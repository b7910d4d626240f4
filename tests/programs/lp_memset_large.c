// A large struct with the last pointer is cleared, which libc may do by an instruction that stores byte by byte.
// valgrind-variable -O2: differs: gcc makes one string instruction of memset, whose register no variable has
// stdout: title: home
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct page {
    char text[8000];
    char *title;
    char rest[64];
};

static struct page page;

static void load(const char *title) {
    page.title = strdup(title);    // lost: 1 block, 5 bytes
    printf("title: %s\n", page.title);    // last used
}

static void reset(struct page *page) {
    memset(page, 0, sizeof *page);    // leaks: overwritten page->title
}

int main(void) {
    load("home");
    reset(&page);
    return 0;
}
