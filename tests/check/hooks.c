// Allocators behind variables, and guards that nobody gets past.
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

void *(*take)(size_t) = malloc;
void (*give)(void *) = free;

static struct {
    void *(*get)(size_t);
    void (*put)(void *);
} pool = {malloc, free};

// Users may have others.
int set_allocator(void *(*taken)(size_t), void (*given)(void *))
{
    if (!taken || !given)
        return -1;
    take = pool.get = taken;
    give = pool.put = given;
    return 0;
}

static char *copied(const char *text)
{
    char *copy = take(strlen(text) + 1); // alloc @copy
    return copy ? strcpy(copy, text) : NULL;
}

struct pair {
    char *prefix, *uri;
};

int pair_new_bad(struct pair **made, const char *prefix, const char *uri)
{
    struct pair *pair = pool.get(sizeof *pair);
    if (!pair)
        return -1;
    pair->prefix = copied(prefix);
    pair->uri = copied(uri);
    if (!pair->uri) {
        pool.put(pair); // leak @copy: pair->prefix
        return -1;
    }
    *made = pair;
    return 0;
}

int pair_new_good(struct pair **made, const char *prefix, const char *uri)
{
    struct pair *pair = pool.get(sizeof *pair);
    if (!pair)
        return -1;
    pair->prefix = copied(prefix);
    pair->uri = copied(uri);
    if (!pair->uri) {
        give(pair->prefix);
        pool.put(pair);
        return -1;
    }
    *made = pair;
    return 0;
}

static int length(const char *text)
{
    size_t length = 0;
    while (text[length])
        length++;
    return length > INT_MAX ? 0 : (int)length;
}

static char *appended(char *text, const char *more, int count)
{
    int size = length(text);
    if (size < 0 || size > INT_MAX - count)
        return NULL;
    if (more && (size_t)count > SIZE_MAX / 2 - (size_t)size)
        return NULL;
    char *longer = realloc(text, (size_t)size + count + 1);
    if (!longer)
        return text;
    memcpy(longer + size, more, count);
    longer[size + count] = 0;
    return longer;
}

// Lengths are not negative, and no text is as long as a number can tell.
void message_good(void (*show)(const char *), const char *name)
{
    char *text = strdup("unknown ");
    if (!text)
        return;
    text = appended(text, name, length(name));
    text = appended(text, "!", 1);
    show(text);
    free(text);
}

struct columns {
    int rows;
    float sums[64];
    float *values;
};

// What is cleared ends before the pointer.
int column_good(struct columns *columns, int count)
{
    float *values = realloc(columns->values, count * sizeof *values);
    if (!values)
        return -1;
    columns->values = values;
    memset(columns->sums, 0, columns->rows * sizeof *columns->sums);
    return 0;
}

struct allocator {
    void *(*allocate)(size_t);
    void (*release)(void *);
};

static struct allocator allocator = {malloc, free};

void set_hooks(struct allocator *other)
{
    allocator.allocate = other && other->allocate ? other->allocate : malloc;
    allocator.release = other && other->release ? other->release : free;
}

struct item {
    struct item *next;
    char *text;
};

static struct item *item_new(const struct allocator *hooks)
{
    struct item *item = hooks->allocate(sizeof *item); // alloc @item; alloc @kept
    if (item)
        memset(item, 0, sizeof *item);
    return item;
}

static char *item_text(const char *text, const struct allocator *hooks)
{
    char *copy = hooks->allocate(strlen(text) + 1);
    return copy ? strcpy(copy, text) : NULL;
}

void item_free(struct item *item)
{
    while (item) {
        struct item *next = item->next;
        if (item->text)
            allocator.release(item->text);
        allocator.release(item);
        item = next;
    }
}

struct item *item_make_bad(const char *text)
{
    struct item *item = item_new(&allocator);
    if (!item)
        return NULL;
    item->text = item_text(text, &allocator);
    if (!item->text)
        return NULL; // leak @item: item
    return item;
}

struct item *item_make_good(const char *text)
{
    struct item *item = item_new(&allocator);
    if (!item)
        return NULL;
    item->text = item_text(text, &allocator);
    if (!item->text) {
        item_free(item);
        return NULL;
    }
    return item;
}

int item_drop_bad(const char *text)
{
    struct item *item = item_make_good(text);
    return item ? 1 : 0; // leak @kept: item
}
