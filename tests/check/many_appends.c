/* A function that makes many things at once: each append may move the text, so
 * that blocks of as many places can be the current one. It is still followed, for
 * what it opens itself. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct text {
    char *at;
    size_t used, room;
};

struct page {
    struct text head, body, foot;
    int status, depth;
    char *borrowed;
};

static void text_append(struct text *text, const char *more)
{
    size_t count = strlen(more);
    if (text->room - text->used <= count) {
        size_t room = text->room ? text->room : 64;
        while (room - text->used <= count)
            room *= 2;
        char *larger = realloc(text->at, room);
        if (!larger)
            abort();
        text->at = larger;
        text->room = room;
    }
    memcpy(text->at + text->used, more, count + 1);
    text->used += count;
}

static void page_tag(struct page *page, const char *tag, const char *value)
{
    text_append(&page->body, "<");
    text_append(&page->body, tag);
    if (value) {
        text_append(&page->body, " value='");
        text_append(&page->body, value);
        text_append(&page->body, "'");
        page->depth++;
    }
    text_append(&page->body, ">");
}

int page_bad(struct page *page, const char *name, const char *title)
{
    char line[256];
    FILE *in = fopen(name, "r"); // alloc @in
    if (!in)
        return -1;
    text_append(&page->head, "Content-Type: text/html\r\n");
    if (title) {
        text_append(&page->head, "Title: ");
        text_append(&page->head, title);
        text_append(&page->head, "\r\n");
    }
    page_tag(page, "html", NULL);
    page_tag(page, "body", title);
    while (fgets(line, sizeof line, in)) {
        switch (line[0]) {
        case '#':
            page_tag(page, "h1", line + 1);
            text_append(&page->foot, "section ");
            break;
        case '-':
            page_tag(page, "li", line + 1);
            text_append(&page->foot, "item ");
            break;
        case '>':
            page_tag(page, "quote", NULL);
            text_append(&page->body, line + 1);
            break;
        case '!':
            page->status = 500;
            text_append(&page->foot, "failed");
            return -1; // leak @in: in
        case '\n':
            page_tag(page, "p", NULL);
            break;
        default:
            text_append(&page->body, line);
            if (page->depth > 3) {
                page_tag(page, "br", NULL);
                page->depth = 0;
            }
        }
        text_append(&page->foot, "\n");
    }
    page_tag(page, "/body", NULL);
    page_tag(page, "/html", NULL);
    text_append(&page->foot, "end");
    fclose(in);
    return 0;
}

int page_good(struct page *page, const char *name, const char *title)
{
    char line[256];
    FILE *in = fopen(name, "r");
    if (!in)
        return -1;
    if (title) {
        text_append(&page->head, "Title: ");
        text_append(&page->head, title);
        text_append(&page->head, "\r\n");
    }
    page_tag(page, "html", NULL);
    while (fgets(line, sizeof line, in)) {
        switch (line[0]) {
        case '#':
            page_tag(page, "h1", line + 1);
            text_append(&page->foot, "section ");
            break;
        case '-':
            page_tag(page, "li", line + 1);
            text_append(&page->foot, "item ");
            break;
        case '!':
            text_append(&page->foot, "failed");
            fclose(in);
            return -1;
        default:
            text_append(&page->body, line);
            if (page->depth > 3) {
                page_tag(page, "br", NULL);
                page->depth = 0;
            }
        }
        text_append(&page->foot, "\n");
    }
    page_tag(page, "/html", NULL);
    text_append(&page->foot, "end");
    fclose(in);
    return 0;
}

/* What is lost early was found while all was told apart: a block that memory of
 * others led to meanwhile would be left to these afterwards. */
int page_early_bad(struct page *page, const char *name, FILE *in, const char *title)
{
    char line[256];
    if (name) {
        char *copy = strdup(name); // alloc @copy
        if (!copy)
            return -1;
        page->borrowed = copy;
        for (char *at = page->borrowed; *at; at++)
            if (*at == '/')
                *at = '.';
        page->borrowed = NULL;
        if (page->status == 0)
            free(copy);
    } // leak @copy: copy
    page_tag(page, "html", NULL);
    page_tag(page, "body", title);
    while (fgets(line, sizeof line, in)) {
        switch (line[0]) {
        case '#':
            page_tag(page, "h1", line + 1);
            text_append(&page->foot, "section ");
            break;
        case '-':
            page_tag(page, "li", line + 1);
            text_append(&page->foot, "item ");
            break;
        case '>':
            page_tag(page, "quote", NULL);
            text_append(&page->body, line + 1);
            break;
        case '!':
            page->status = 500;
            text_append(&page->foot, "failed");
            return -2;
        case '\n':
            page_tag(page, "p", NULL);
            break;
        default:
            text_append(&page->body, line);
            if (page->depth > 3) {
                page_tag(page, "br", NULL);
                page->depth = 0;
            }
        }
        text_append(&page->foot, "\n");
    }
    page_tag(page, "/body", NULL);
    page_tag(page, "/html", NULL);
    text_append(&page->foot, "end");
    return 0;
}

int page_early_good(struct page *page, const char *name, FILE *in, const char *title)
{
    char line[256];
    if (name) {
        char *copy = strdup(name);
        if (!copy)
            return -1;
        page->borrowed = copy;
        for (char *at = page->borrowed; *at; at++)
            if (*at == '/')
                *at = '.';
        page->borrowed = NULL;
        free(copy);
    }
    page_tag(page, "html", NULL);
    page_tag(page, "body", title);
    while (fgets(line, sizeof line, in)) {
        switch (line[0]) {
        case '#':
            page_tag(page, "h1", line + 1);
            text_append(&page->foot, "section ");
            break;
        case '-':
            page_tag(page, "li", line + 1);
            text_append(&page->foot, "item ");
            break;
        case '>':
            page_tag(page, "quote", NULL);
            text_append(&page->body, line + 1);
            break;
        case '!':
            page->status = 500;
            text_append(&page->foot, "failed");
            return -2;
        case '\n':
            page_tag(page, "p", NULL);
            break;
        default:
            text_append(&page->body, line);
            if (page->depth > 3) {
                page_tag(page, "br", NULL);
                page->depth = 0;
            }
        }
        text_append(&page->foot, "\n");
    }
    page_tag(page, "/body", NULL);
    page_tag(page, "/html", NULL);
    text_append(&page->foot, "end");
    return 0;
}
