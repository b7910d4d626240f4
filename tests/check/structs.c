// Blocks in fields: struct copies, nesting, arrays of pointers, unions, container_of, bit tricks.
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct name {
    char *first;
    char *last;
};

struct person {
    struct name name;
    struct person *friends[4];
    int age;
};

void copied_good(void)
{
    struct name a = {malloc(3), malloc(4)};
    struct name b = a;
    free(b.first);
    free(b.last);
}

void copied_half_bad(void)
{
    struct name a = {malloc(3), malloc(4)}; // alloc @half
    struct name b = a;
    free(b.first);
} // leak @half: ?

void copied_by_memcpy_good(void)
{
    struct name a = {malloc(3), NULL};
    struct name b;
    memcpy(&b, &a, sizeof b);
    free(b.first);
}

void copied_out_good(struct name *out)
{
    struct name a = {malloc(3), NULL};
    *out = a;
}

static struct name made(void)
{
    struct name a = {strdup("a"), strdup("b")}; // alloc @made
    return a;
}

void made_good(void)
{
    struct name a = made();
    free(a.first);
    free(a.last);
}

void made_bad(void)
{
    struct name a = made();
    free(a.first);
} // leak @made: a.last

static void named(struct name name)
{
    free(name.first);
    free(name.last);
}

void by_value_good(void)
{
    struct name a = {malloc(3), malloc(4)};
    named(a);
}

struct person *nested_good(void)
{
    struct person *p = calloc(1, sizeof *p);
    if (!p)
        return NULL;
    p->name.first = malloc(3);
    p->name.last = malloc(3);
    return p;
}

void nested_bad(void)
{
    struct person *p = calloc(1, sizeof *p);
    if (!p)
        return;
    p->name.last = malloc(3); // alloc @nested
    free(p->name.first);
    free(p); // leak @nested: p->name.last
}

void array_good(void)
{
    char *all[8];
    for (int i = 0; i < 8; i++)
        all[i] = malloc(3);
    for (int i = 0; i < 8; i++)
        free(all[i]);
}

void array_bad(void)
{
    char *all[8];
    for (int i = 0; i < 8; i++)
        all[i] = malloc(3); // alloc @array
} // leak @array: ?

void array_constant_good(void)
{
    char *all[3];
    all[0] = malloc(1);
    all[2] = malloc(2);
    free(all[2]);
    free(all[0]);
}

void array_constant_bad(void)
{
    char *all[3];
    all[0] = malloc(1);
    all[2] = malloc(2); // alloc @constant
    free(all[0]);
} // leak @constant: all[2]

char **array_on_heap_good(int count)
{
    char **all = calloc(count, sizeof *all);
    if (!all)
        return NULL;
    for (int i = 0; i < count; i++)
        all[i] = strdup("x");
    return all;
}

void array_on_heap_freed_good(int count)
{
    char **all = array_on_heap_good(count);
    if (!all)
        return;
    for (int i = 0; i < count; i++)
        free(all[i]);
    free(all);
}

void matrix_good(int rows, int columns)
{
    double **m = malloc(rows * sizeof *m);
    if (!m)
        return;
    for (int i = 0; i < rows; i++)
        m[i] = malloc(columns * sizeof **m);
    for (int i = 0; i < rows; i++)
        free(m[i]);
    free(m);
}

// The rows are forgotten.
void matrix_bad(int rows, int columns)
{
    double **m = malloc(rows * sizeof *m);
    if (!m)
        return;
    for (int i = 0; i < rows; i++)
        m[i] = malloc(columns * sizeof **m); // alloc @rows
    free(m); // leak @rows: ?
}

// One block for the rows, one for all cells.
void matrix_flat_good(int rows, int columns)
{
    double **m = malloc(rows * sizeof *m);
    if (!m)
        return;
    m[0] = malloc(rows * columns * sizeof **m);
    for (int i = 1; i < rows; i++)
        m[i] = m[0] + i * columns;
    free(m[0]);
    free(m);
}

union value {
    char *text;
    long number;
    void *any;
};

void union_good(void)
{
    union value v;
    v.text = strdup("x");
    free(v.any);
}

void union_bad(void)
{
    union value v;
    v.text = strdup("x"); // alloc @union
    v.number = 0; // leak @union: ?
}

// A pointer to a member finds the whole.
struct link {
    struct link *next;
};

struct holder {
    int id;
    struct link link;
};

static struct link *links;

void container_kept_good(void)
{
    struct holder *h = malloc(sizeof *h);
    if (!h)
        return;
    h->link.next = links;
    links = &h->link;
}

struct link *container_returned_good(void)
{
    struct holder *h = malloc(sizeof *h);
    if (!h)
        return NULL;
    return &h->link;
}

void container_of_good(void)
{
    struct link *link = container_returned_good();
    if (!link)
        return;
    struct holder *h = (struct holder *)((char *)link - offsetof(struct holder, link));
    free(h);
}

// A header in front of what the caller sees.
struct header {
    size_t size;
};

void *with_header_good(size_t size)
{
    struct header *h = malloc(sizeof *h + size);
    if (!h)
        return NULL;
    h->size = size;
    return h + 1;
}

void without_header_good(void *p)
{
    if (p)
        free((struct header *)p - 1);
}

void header_good(void)
{
    void *p = with_header_good(3);
    without_header_good(p);
}

// A bit of the address is used as a flag.
void tagged_good(void)
{
    uintptr_t tagged = (uintptr_t)malloc(8) | 1;
    free((void *)(tagged & ~(uintptr_t)1));
}

void cast_to_integer_good(void)
{
    unsigned long handle = (unsigned long)malloc(8);
    free((void *)handle);
}

// Moved along, and released by the start.
void walked_good(void)
{
    char *start = malloc(10);
    if (!start)
        return;
    char *p = start;
    while (p < start + 10)
        *p++ = 0;
    free(start);
}

void walked_back_good(void)
{
    char *p = malloc(10);
    if (!p)
        return;
    p += 5;
    *p = 0;
    free(p - 5);
}

// The last pointer is in another block, which goes.
void holder_freed_bad(void)
{
    struct name *n = malloc(sizeof *n);
    if (!n)
        return;
    n->first = malloc(3); // alloc @holder
    n->last = NULL;
    free(n); // leak @holder: n->first
}

void field_overwritten_bad(struct name *n)
{
    n->first = malloc(3); // alloc @field
    n->first = NULL; // leak @field: n->first
}

void field_swapped_good(struct name *n)
{
    char *first = malloc(3);
    char *old = n->first;
    n->first = first;
    free(old);
}

void zeroed_bad(void)
{
    struct name n;
    n.first = malloc(3); // alloc @zeroed
    memset(&n, 0, sizeof n); // leak @zeroed: n.first
}

// Five steps from a parameter.
struct deep {
    struct deep *in;
    char *text;
};

void deep_good(struct deep *d)
{
    d->in->in->in->text = malloc(3);
}

void deep_local_bad(void)
{
    struct deep a, b = {&a, NULL}, c = {&b, NULL};
    a.in = NULL;
    c.in->in->text = malloc(3); // alloc @deep
} // leak @deep: a.text

// Copied by the functions that _FORTIFY_SOURCE puts in place of memcpy and memset.

#define ROOM(to) __builtin_object_size(to, 0)

struct vector { char *items; size_t count, size; };

static int vector_set(struct vector *vector, const void *item, size_t at)
{
    char *to = vector->items + at * vector->size;
    if (at >= vector->count)
        return 0;
    __builtin___memcpy_chk(to, item, vector->size, ROOM(to));
    return 1;
}

int vector_put_good(struct vector *vector, const char *text)
{
    struct name item = {strdup(text), NULL};
    if (item.first != NULL && vector_set(vector, &item, 3))
        return 1;
    free(item.first);
    return 0;
}

int vector_put_bad(struct vector *vector, const char *text)
{
    struct name item = {strdup(text), NULL}; // alloc @vector
    int done = item.first != NULL && vector_set(vector, &item, 3);
    return done; // leak @vector: item.first
}

void end_good(struct name *to)
{
    struct name from = {strdup("a"), strdup("b")};
    char *end = __builtin___mempcpy_chk(to, &from, sizeof from, ROOM(to));
    ((struct name *)end)[-1].last = from.last;
}

// A number beside an array is none of its elements.
struct stack {
    char *items[4];
    int top;
};

static void push(struct stack *s, char *item)
{
    if (s->top < 4)
        s->items[s->top++] = item;
}

static char *pop(struct stack *s)
{
    return s->items[--s->top];
}

void pushed_good(void)
{
    struct stack s;
    s.top = 0;
    push(&s, malloc(10));
    char *p = pop(&s);
    if (p != NULL)
        free(p);
}

void pushed_bad(void)
{
    struct stack s;
    s.top = 0;
    push(&s, malloc(10)); // alloc @pushed
    pop(&s);
} // leak @pushed: ?

// Members of elements are not told apart: what is released may be another.
struct bookmark {
    char *path;
    struct name *name;
};
static struct bookmark bookmarks[8];

static void bookmark_all(struct name *name)
{
    for (int i = 0; i < 8; i++)
        if (bookmarks[i].path != NULL) {
            free(bookmarks[i].path);
            bookmarks[i].path = NULL;
            bookmarks[i].name = name;
        }
}

struct name *bookmarked_good(void)
{
    struct name *n = calloc(1, sizeof(*n));
    if (n == NULL)
        return NULL;
    n->first = strdup("a");
    bookmark_all(n);
    return n;
}

// Two descriptors in one word, as small structures are passed and returned.
struct ends {
    int from, to;
};

static void close_from(struct ends ends)
{
    close(ends.from);
}

static void close_ends(struct ends ends)
{
    close(ends.from);
    close(ends.to);
}

static int open_ends(struct ends *ends)
{
    ends->from = open("/a", O_RDONLY);
    if (ends->from < 0)
        return -1;
    ends->to = open("/b", O_RDONLY); // alloc @to
    if (ends->to < 0) {
        close(ends->from);
        return -1;
    }
    return 0;
}

void ends_passed_good(void)
{
    struct ends ends;
    if (open_ends(&ends) == 0)
        close_ends(ends);
}

void ends_passed_bad(void)
{
    struct ends ends;
    if (open_ends(&ends) == 0)
        close_from(ends);
} // leak @to: ends.to

static struct ends both_ends(void)
{
    struct ends ends;
    ends.from = open("/a", O_RDONLY);
    ends.to = open("/b", O_RDONLY); // alloc @returned
    return ends;
}

void ends_returned_good(void)
{
    struct ends ends = both_ends();
    if (ends.from >= 0)
        close(ends.from);
    if (ends.to >= 0)
        close(ends.to);
}

void ends_returned_bad(void)
{
    struct ends ends = both_ends();
    if (ends.from >= 0)
        close(ends.from);
} // leak @returned: ends.to

// A descriptor is a number: one that is written over is lost.
static int latest = -1;

void latest_good(void)
{
    latest = open("/a", O_RDONLY);
    if (latest >= 0)
        close(latest);
    latest = -1;
}

void latest_bad(void)
{
    latest = open("/a", O_RDONLY); // alloc @latest
    latest = -1; // leak @latest: latest
}

// A callee clears all of a structure.
struct session {
    int state;
    char *user;
};

static void session_reset(struct session *session)
{
    memset(session, 0, sizeof *session); // leak @cleared: session->user
    session->state = 1;
}

void session_bad(void)
{
    struct session session;
    session_reset(&session);
    session.user = strdup("a"); // alloc @cleared; gap: callers are not told what a callee clears
    session_reset(&session);
}

void session_good(void)
{
    struct session session;
    session_reset(&session);
    session.user = strdup("a");
    free(session.user);
    session_reset(&session);
}

// What frees anything is not where a member is lost.
static void release(void *block)
{
    if (block)
        free(block);
}

static void session_free(struct session *session)
{
    release(session); // leak @released: session->user
}

void session_freed_bad(void)
{
    struct session *session = calloc(1, sizeof *session);
    if (!session)
        return;
    session->user = strdup("a"); // alloc @released
    session_free(session);
}

// A member is not released by who may release what it is given.
struct items {
    int is_own;
    char *first;
};

static void items_end(struct items *items)
{
    free(items->first);
    if (items->is_own)
        free(items);
}

struct basket {
    char *name;
    struct items items;
};

static void basket_empty(struct basket *basket)
{
    items_end(&basket->items);
}

void basket_good(const char *name)
{
    struct basket *basket = calloc(1, sizeof *basket);
    if (!basket)
        return;
    basket->name = strdup(name);
    basket->items.first = strdup("x");
    basket_empty(basket);
    free(basket->name);
    free(basket);
}

void basket_bad(const char *name)
{
    struct basket *basket = calloc(1, sizeof *basket);
    if (!basket)
        return;
    basket->name = strdup(name); // alloc @basket
    basket->items.first = strdup("x");
    basket_empty(basket);
    free(basket); // leak @basket: basket->name
}

// A list that begins in a place of its own, beside the pointer to it.
struct token {
    const char *text;
    int length;
};

struct tokens {
    struct token *list;
    int size, count;
    struct token first[8];
};

static void tokens_begin(struct tokens *tokens)
{
    tokens->list = tokens->first;
    tokens->size = 8;
    tokens->count = 0;
}

static void tokens_end(struct tokens *tokens)
{
    if (tokens->list != tokens->first)
        free(tokens->list);
}

static void tokens_add(struct tokens *tokens, const char *text, int length)
{
    if (tokens->count == tokens->size) {
        tokens->size *= 2;
        if (tokens->list != tokens->first)
            tokens->list = realloc(tokens->list, tokens->size * sizeof *tokens->list);
        else {
            tokens->list = malloc(tokens->size * sizeof *tokens->list); // alloc @tokens
            memcpy(tokens->list, tokens->first, sizeof tokens->first);
        }
        if (!tokens->list)
            abort();
    }
    struct token *token = &tokens->list[tokens->count++];
    token->text = text;
    token->length = length;
}

int tokens_good(const char *text)
{
    struct tokens tokens;
    tokens_begin(&tokens);
    for (const char *to; (to = strchr(text, ' ')); text = to + 1)
        tokens_add(&tokens, text, to - text);
    int count = tokens.count;
    tokens_end(&tokens);
    return count;
}

int tokens_bad(const char *text)
{
    struct tokens tokens;
    tokens_begin(&tokens);
    for (const char *to; (to = strchr(text, ' ')); text = to + 1)
        tokens_add(&tokens, text, to - text);
    return tokens.count; // leak @tokens: tokens.list
}
