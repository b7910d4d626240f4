// Functions end by a call that optimised code makes a jump of: what is freed, allocated or lost there is theirs, not their caller's.
// stdout: 3
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct style {
    char *font;
};
struct page {
    char *title, *body;
    struct style *style;
};

__attribute__((noinline)) static char *copy_of(const char *text) {
    return strdup(text);    // lost @title: 2 blocks, 8 bytes; lost @kept: 1 block, 6 bytes; lost @font: 2 blocks, 10 bytes
}

__attribute__((noinline)) static void style_drop(struct style *style) {
    free(style);    // leaks @font: holder-freed style->font
}

__attribute__((noinline)) static void page_drop(struct page *page) {
    free(page->body);
    style_drop(page->style);
    free(page);    // leaks @title: holder-freed page->title
}

__attribute__((noinline)) static void set_title(struct page *page, const char *title) {
    page->title = copy_of(title);    // leaks @kept: overwritten page->title
}

__attribute__((noinline)) static struct page *page_new(const char *title) {
    struct page *page = malloc(sizeof *page);
    page->title = NULL;
    set_title(page, title);
    page->body = copy_of("...");
    page->style = malloc(sizeof *page->style);
    page->style->font = copy_of("mono");
    return page;
}

int main(void) {
    struct page *first = page_new("first"), *second = page_new("two");
    set_title(first, "one");
    printf("%zu\n", strlen(first->title));
    page_drop(first);
    page_drop(second);
    return 0;
}
