// Who owns it: containers that take, callbacks that keep, counts, wrappers, statics, threads.
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct table {
    void **slots;
    int used, room;
};

extern void external(void *);
extern void *external_lookup(const char *);

static void *xmalloc(size_t size)
{
    void *p = malloc(size); // alloc @x
    if (!p)
        abort();
    return p;
}

static char *xstrdup(const char *text)
{
    char *copy = xmalloc(strlen(text) + 1);
    return strcpy(copy, text);
}

void x_good(void)
{
    char *p = xmalloc(3);
    free(p);
}

void x_bad(void)
{
    char *p = xstrdup("x");
    puts(p);
} // leak @x: p

// A table that owns what it is given.
static int table_add(struct table *t, void *item)
{
    if (t->used == t->room) {
        void **slots = realloc(t->slots, (t->room + 8) * sizeof *slots);
        if (!slots)
            return -1;
        t->slots = slots;
        t->room += 8;
    }
    t->slots[t->used++] = item;
    return 0;
}

static void table_free(struct table *t)
{
    for (int i = 0; i < t->used; i++)
        free(t->slots[i]);
    free(t->slots);
}

int table_good(struct table *t)
{
    char *p = malloc(3);
    if (!p)
        return -1;
    if (table_add(t, p) < 0) {
        free(p);
        return -1;
    }
    return 0;
}

int table_local_good(void)
{
    struct table t = {0};
    char *p = malloc(3);
    if (p && table_add(&t, p) < 0)
        free(p);
    table_free(&t);
    return 0;
}

int table_bad(struct table *t)
{
    char *p = malloc(3); // alloc @table
    if (!p)
        return -1;
    if (table_add(t, p) < 0)
        return -1; // leak @table: p
    return 0;
}

// What an unknown function was given may be kept.
void external_good(void)
{
    char *p = malloc(3);
    external(p);
}

void external_holder_good(void)
{
    char **p = malloc(sizeof *p);
    if (!p)
        return;
    *p = malloc(3);
    external(p);
}

void external_after_bad(void)
{
    char *p = malloc(3); // alloc @after
    external_lookup("x");
    if (p)
        p[0] = 1;
} // leak @after: p

void external_result_silent(void)
{
    void *p = external_lookup("x");
    (void)p;
}

// Counted objects.
struct counted {
    int count;
    char *text;
};

static struct counted *counted_new(void)
{
    struct counted *c = malloc(sizeof *c); // alloc @count
    if (!c)
        return NULL;
    c->count = 1;
    c->text = NULL;
    return c;
}

static struct counted *counted_ref(struct counted *c)
{
    c->count++;
    return c;
}

static void counted_unref(struct counted *c)
{
    if (--c->count == 0) {
        free(c->text);
        free(c);
    }
}

void counted_good(void)
{
    struct counted *c = counted_new();
    if (c)
        counted_unref(c);
}

void counted_shared_good(struct counted **out)
{
    struct counted *c = counted_new();
    if (!c)
        return;
    *out = counted_ref(c);
    counted_unref(c);
}

void counted_bad(void)
{
    struct counted *c = counted_new();
    if (c)
        c->text = NULL;
} // leak @count: c

// Context of a callback.
typedef void (*callback)(void *);
static callback hook;
static void *hook_context;

static void set_hook(callback function, void *context)
{
    hook = function;
    hook_context = context;
}

static void on_hook(void *context)
{
    puts(context);
}

void hook_good(void)
{
    set_hook(on_hook, strdup("context"));
}

static void call_now(callback function, void *context)
{
    function(context);
}

static void releases(void *context)
{
    free(context);
}

static void only_reads(void *context)
{
    puts(context);
}

void call_now_good(void)
{
    char *p = strdup("x");
    call_now(releases, p);
}

void call_now_bad(void)
{
    char *p = strdup("x"); // alloc @now
    call_now(only_reads, p);
} // leak @now: p

// Operations in a struct.
struct operations {
    void *(*open)(void);
    void (*close)(void *);
};

static void *open_it(void)
{
    return malloc(9); // alloc @operations
}

static void close_it(void *it)
{
    free(it);
}

static const struct operations operations = {open_it, close_it};

void operations_good(void)
{
    void *it = operations.open();
    if (it)
        operations.close(it);
}

void operations_bad(void)
{
    void *it = operations.open();
    (void)it;
} // leak @operations: it

// Threads have their argument.
static void *thread(void *argument)
{
    free(argument);
    return NULL;
}

int thread_good(void)
{
    pthread_t id;
    char *p = malloc(3);
    if (!p)
        return -1;
    if (pthread_create(&id, NULL, thread, p) != 0) {
        free(p);
        return -1;
    }
    pthread_detach(id);
    return 0;
}

// Kept for ever, once.
const char *cached_good(void)
{
    static char *cache;
    if (!cache)
        cache = strdup("x");
    return cache;
}

char *lazily_good(struct counted *c)
{
    if (!c->text)
        c->text = malloc(10);
    return c->text;
}

void replaced_bad(struct counted *c)
{
    c->text = malloc(10); // alloc @replaced
    if (c->count > 3)
        c->text = malloc(20); // leak @replaced: c->text
}

void environment_good(void)
{
    char *setting = strdup("A=B");
    if (setting)
        putenv(setting);
}

void environment_bad(void)
{
    char *value = strdup("B"); // alloc @environment
    if (value)
        setenv("A", value, 1);
} // leak @environment: value

// A function that never comes back needs to free nothing.
__attribute__((noreturn)) static void die(const char *why)
{
    fputs(why, stderr);
    exit(1);
}

void die_good(const char *name)
{
    char *p = strdup(name);
    if (!p)
        die("memory");
    if (p[0] == 'x')
        die(p);
    free(p);
}

static void fatal(int code)
{
    if (code)
        exit(code);
}

void fatal_good(const char *name)
{
    char *p = strdup(name);
    if (!p)
        return;
    if (p[0] == 'x') {
        fatal(3);
        return;
    }
    free(p);
}

// A result that nobody takes.
void discarded_bad(void)
{
    strdup("x"); // alloc @discarded; leak @discarded
}

static char *describe(int number)
{
    char *text = malloc(20); // alloc @argument
    if (text)
        snprintf(text, 20, "%d", number);
    return text;
}

void discarded_argument_bad(void)
{
    puts(describe(3)); // leak @argument
}

void discarded_good(char **out)
{
    char *copy = strcpy(xmalloc(10), "text");
    *out = copy;
}

// Whether it comes back is for who calls it to say; it is in a cycle with what
// it asks.
static int complaints;
static char *looked_up(const char *name);

static void complain(int is_fatal, const char *text)
{
    char *where = complaints++ ? NULL : looked_up(text);
    printf("%s: %s\n", where ? where : "", text);
    free(where);
    if (is_fatal)
        exit(1);
}

static void give_up(const char *text)
{
    complain(1, text);
}

static char *looked_up(const char *name)
{
    char *copy = strdup(name);
    if (copy == NULL)
        give_up("no memory");
    return copy;
}

void given_up_good(int n)
{
    char *p = malloc(10);
    if (n > 5)
        give_up("too many");
    free(p);
}

void only_told_bad(int n)
{
    char *p = malloc(10); // alloc @told
    if (n > 5) {
        complain(0, "too many");
        return; // leak @told: p
    }
    free(p);
}

void told_fatal_good(int n)
{
    char *p = malloc(10);
    if (n > 5) {
        complain(1, "too many");
        return;
    }
    free(p);
}

// What a call brings is of no use to a program that ends.
void not_kept_good(int n)
{
    char *p = malloc(10);
    if (n > 5) {
        strdup(p);
        exit(1);
    }
    free(p);
}

void not_kept_bad(int n)
{
    if (n > 5)
        strdup("five"); // alloc @notkept; leak @notkept
}

// A callee moves a pointer along its block: who has the block still has it.
static int next_field(char **at, char *field)
{
    *at += strspn(*at, " ");
    size_t length = strcspn(*at, " ");
    memcpy(field, *at, length);
    field[length] = '\0';
    *at += length;
    return (int)length;
}

int fields_bad(const char *text)
{
    char field[64], *copy = malloc(64), *at = copy; // alloc @fields
    int count = 0;
    if (!copy)
        return -1;
    strcpy(copy, text);
    while (next_field(&at, field) > 0)
        count++;
    return count; // leak @fields: copy
}

int fields_good(const char *text)
{
    char field[64], *copy = malloc(64), *at = copy;
    int count = 0;
    if (!copy)
        return -1;
    strcpy(copy, text);
    while (next_field(&at, field) > 0)
        count++;
    free(copy);
    return count;
}

struct writer {
    char *start, *next;
};

static void writer_put(struct writer *writer, char letter)
{
    *writer->next++ = letter;
}

char *written_good(const char *text)
{
    struct writer writer;
    writer.start = writer.next = malloc(32);
    if (!writer.start)
        return NULL;
    writer_put(&writer, text[0]);
    writer_put(&writer, '\0');
    return writer.start;
}

char *written_bad(const char *text)
{
    struct writer writer;
    writer.start = writer.next = malloc(32); // alloc @written
    if (!writer.start)
        return NULL;
    writer_put(&writer, text[0]);
    if (text[0] == '!')
        return NULL; // leak @written: writer.start
    return writer.start;
}
