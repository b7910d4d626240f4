// Blocks are freed by functions that take any pointer: through a pointer to free, by a wrapper, and by a wrapper of that.
// stdout: plain ada
// stdout: own grace
// stdout: nested edsger
// valgrind -O2: differs: calls of the wrappers became jumps, so that the frames of whoever called them are gone
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct memory {
    void *(*take)(size_t);
    void (*give_back)(void *);
};

struct record {
    int kind;
    char *name;
    struct record *next;
};

static void own_release(void *memory)
{
    free(memory);                               // leaks @own: holder-freed r->name
}

static void checked(void *memory)
{
    if (memory)
        free(memory);                           // leaks @nested: holder-freed table[0]->name
}

__attribute__((noinline)) static void nested_release(int level, void *memory)
{
    if (level > 0)
        checked(memory);
}

static char *copied(const char *name)
{
    char *copy = malloc(strlen(name) + 1);      // lost @plain: 1 block, 4 bytes; lost @own: 1 block, 6 bytes; lost @nested: 1 block, 7 bytes
    return strcpy(copy, name);
}

static struct record *make(const struct memory *memory, const char *name)
{
    struct record *r = memory->take(sizeof *r);
    *r = (struct record) { .kind = 1, .name = copied(name) };
    return r;
}

static void drop(const struct memory *memory, struct record *r)
{
    printf("plain %s\n", r->name);              // last used @plain
    memory->give_back(r);                       // leaks @plain: holder-freed r->name
}

static void drop_by(const struct memory *memory, struct record *r)
{
    printf("own %s\n", r->name);                // last used @own
    memory->give_back(r);
}

int main(void)
{
    struct memory plain = { malloc, free }, own = { malloc, own_release };
    drop(&plain, make(&plain, "ada"));
    drop_by(&own, make(&own, "grace"));
    struct record *table[1] = { make(&plain, "edsger") };
    printf("nested %s\n", table[0]->name);      // last used @nested
    nested_release(2, table[0]);
    return 0;
}
