// The root of three levels is freed: the page it held is lost, and through the page its font and the font's name.
// stdout: 11pt Serif on page 1
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct font {
    char *name;
    int size;
};

struct page {
    struct font *font;
    int number;
};

struct document {
    struct page *page;
    char title[24];
};

static int open_documents;

static struct font *font_open(const char *name, int size) {
    struct font *font = malloc(sizeof *font);    // indirect @font: 1 block, 16 bytes
    font->name = strdup(name);                   // indirect @name: 1 block, 6 bytes
    font->size = size;
    return font;
}

static struct page *page_add(int number) {
    struct page *page = malloc(sizeof *page);    // lost @page: 1 block, 16 bytes
    page->number = number;
    page->font = font_open("Serif", 11);
    return page;
}

static struct document *document_new(const char *title) {
    struct document *document = calloc(1, sizeof *document);
    snprintf(document->title, sizeof document->title, "%s", title);
    document->page = page_add(1);
    open_documents++;
    return document;
}

static void print(const struct document *document) {
    const struct page *page = document->page;
    printf("%dpt %s on page %d\n", page->font->size, page->font->name, page->number);    // last used @page; last used @font; last used @name
}

static void document_close(struct document *document) {
    open_documents--;
    free(document);    // leaks @page: holder-freed document->page; leaks @font: holder-freed document->page; leaks @name: holder-freed document->page
}

int main(void) {
    struct document *document = document_new("manual");

    print(document);
    document_close(document);
    return open_documents;
}
