// The two outcomes of realloc, and what else takes a block to give another.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *grow_bad(size_t size)
{
    char *p = malloc(size); // alloc @grow
    if (!p)
        return NULL;
    p = realloc(p, size * 2); // leak @grow: p
    return p;
}

char *grow_good(size_t size)
{
    char *p = malloc(size);
    if (!p)
        return NULL;
    char *larger = realloc(p, size * 2);
    if (!larger) {
        free(p);
        return NULL;
    }
    return larger;
}

char *grow_kept_good(size_t size)
{
    char *p = malloc(size);
    if (!p)
        return NULL;
    char *larger = realloc(p, size * 2);
    return larger ? larger : p;
}

char *grow_forgot_bad(size_t size)
{
    char *p = malloc(size); // alloc @forgot
    if (!p)
        return NULL;
    char *larger = realloc(p, size * 2);
    if (!larger)
        return NULL; // leak @forgot: p
    return larger;
}

void grow_then_free_bad(void)
{
    char *p = malloc(10); // alloc @then
    if (p == NULL)
        exit(1);
    strcpy(p, "text");
    p = realloc(p, 130000); // leak @then: p
    if (p != NULL) {
        strcpy(p, "other");
        free(p);
    }
}

void grow_then_exit_good(void)
{
    char *p = malloc(10);
    if (p == NULL)
        exit(1);
    char *q = realloc(p, 130000);
    if (q == NULL) {
        free(p);
        exit(1);
    }
    free(q);
}

void grown_bad(void)
{
    char *p = realloc(NULL, 10); // alloc @grown
    if (p)
        p[0] = 1;
} // leak @grown: p

void from_null_good(void)
{
    char *p = NULL;
    p = realloc(p, 10);
    free(p);
}

// A buffer that grows in a loop.
char *read_all_good(FILE *in)
{
    size_t used = 0, room = 0;
    char *text = NULL;
    int c;
    while ((c = getc(in)) != EOF) {
        if (used == room) {
            char *larger = realloc(text, room + 100);
            if (!larger) {
                free(text);
                return NULL;
            }
            text = larger;
            room += 100;
        }
        text[used++] = (char)c;
    }
    return text;
}

char *read_all_bad(FILE *in)
{
    size_t used = 0, room = 0;
    char *text = NULL;
    int c;
    while ((c = getc(in)) != EOF) {
        if (used == room) {
            char *larger = realloc(text, room + 100); // alloc @loop
            if (!larger)
                return NULL; // leak @loop: text
            text = larger;
            room += 100;
        }
        text[used++] = (char)c;
    }
    return text;
}

struct buffer {
    char *data;
    size_t size;
};

int buffer_grow_good(struct buffer *b)
{
    char *data = realloc(b->data, b->size * 2);
    if (!data)
        return -1;
    b->data = data;
    b->size *= 2;
    return 0;
}

int buffer_use_good(void)
{
    struct buffer b = {malloc(4), 4};
    if (!b.data)
        return -1;
    if (buffer_grow_good(&b) < 0) {
        free(b.data);
        return -1;
    }
    free(b.data);
    return 0;
}

int buffer_use_bad(void)
{
    struct buffer b = {malloc(4), 4}; // alloc @buffer
    if (!b.data)
        return -1;
    if (buffer_grow_good(&b) < 0)
        return -1; // leak @buffer: b.data
    free(b.data);
    return 0;
}

// A wrapper that ends the program instead of failing.
static void *xrealloc(void *p, size_t size)
{
    void *q = realloc(p, size); // alloc @x
    if (!q) {
        fputs("out of memory\n", stderr);
        exit(1);
    }
    return q;
}

char *xrealloc_good(void)
{
    char *p = xrealloc(NULL, 5);
    p = xrealloc(p, 10);
    return p;
}

void xrealloc_bad(void)
{
    char *p = xrealloc(NULL, 5);
    p = xrealloc(p, 10);
    p[0] = 1;
} // leak @x: p

// An array of the caller's grows by one, and its new item holds blocks.
struct option {
    char *name;
    char *help;
};

int option_add_good(struct option **items, int *count, const struct option *from)
{
    struct option *larger = realloc(*items, (*count + 1) * sizeof **items);
    if (larger == NULL)
        return 1;
    *items = larger;
    struct option *item = *items + *count;
    item->name = from->name ? strdup(from->name) : NULL;
    item->help = from->help ? strdup(from->help) : NULL;
    (*count)++;
    return 0;
}

int option_add_bad(struct option **items, int *count, const char *name)
{
    char *copy = strdup(name); // alloc @option
    struct option *larger = realloc(*items, (*count + 1) * sizeof **items);
    if (larger == NULL)
        return 1; // leak @option: copy
    *items = larger;
    larger[*count].name = copy;
    (*count)++;
    return 0;
}

// A callee that loses what it could not make larger: whoever gave it the block
// cannot know.
static void fill_bad(char *text)
{
    text = realloc(text, 1000);
    if (text != NULL) {
        strcpy(text, "more");
        free(text);
    }
}

static void fill_good(char *text)
{
    char *larger = realloc(text, 1000);
    if (larger != NULL)
        text = larger;
    free(text);
}

void given_to_realloc_bad(void)
{
    char *text = malloc(10); // alloc @given
    if (text == NULL)
        return;
    fill_bad(text);
} // leak @given: text

void given_to_realloc_good(void)
{
    char *text = malloc(10);
    if (text == NULL)
        return;
    fill_good(text);
}

struct text {
    char *start;
    int length;
};

static void extend_bad(struct text *text)
{
    text->start = realloc(text->start, 1000); // leak @member: text->start
    if (text->start != NULL) {
        text->length = 1000;
        free(text->start);
    }
}

static int extend_good(struct text *text)
{
    char *larger = realloc(text->start, 1000);
    if (larger == NULL)
        return -1;
    text->start = larger;
    text->length = 1000;
    return 0;
}

void member_given_to_realloc_bad(void)
{
    struct text text = { malloc(10), 10 }; // alloc @member
    if (text.start == NULL)
        return;
    extend_bad(&text);
}

void member_given_to_realloc_good(void)
{
    struct text text = { malloc(10), 10 };
    if (text.start == NULL)
        return;
    extend_good(&text);
    free(text.start);
}

// Nothing but no memory at all ends the program: who asks for nothing gets
// nothing, and the block is gone.
static void *resize_or_exit(void *p, size_t size)
{
    void *larger = realloc(p, size);
    if (larger == NULL && (p == NULL || size != 0))
        exit(1);
    return larger;
}

void resized_good(struct text *text, size_t size)
{
    text->start = malloc(10);
    if (text->start == NULL)
        return;
    text->start = resize_or_exit(text->start, size);
}

// What a variable of the program held is lost, too.

static char *table;
static struct text page;
static char *lines[8];

int table_grown_bad(size_t size)
{
    table = realloc(table, size); // alloc @table; leak @table: table
    return table == NULL ? -1 : 0;
}

int table_grown_good(size_t size)
{
    char *larger = realloc(table, size);
    if (larger == NULL)
        return -1;
    table = larger;
    return 0;
}

int page_grown_bad(size_t size)
{
    page.start = realloc(page.start, size); // alloc @page; leak @page: page.start
    if (page.start == NULL)
        return -1;
    page.length = (int)size;
    return 0;
}

void page_grown_or_exit_good(size_t size)
{
    page.start = realloc(page.start, size);
    if (page.start == NULL)
        exit(1);
}

int page_still_known_good(size_t size)
{
    char *old = page.start;
    page.start = realloc(page.start, size);
    if (page.start == NULL) {
        page.start = old;
        return -1;
    }
    return 0;
}

int line_grown_bad(int i)
{
    lines[i] = realloc(lines[i], 100); // alloc @line; leak @line: ?
    return lines[i] == NULL ? -1 : 0;
}

size_t lengths(void)
{
    return strlen(table) + strlen(page.start) + strlen(lines[0]);
}
