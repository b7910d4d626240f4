// Branches that are decided: constants, globals that nobody writes, functions with one value, null-ness, ranges.
#include <stdlib.h>
#include <string.h>

static const int ALWAYS = 1;
static int never_written = 5;
int visible = 7;
static int written;
enum { LIMIT = 10 };

static int returns_one(void)
{
    return 1;
}

static int returns_limit(void)
{
    return LIMIT;
}

extern int opaque(void);

void set_written(int value)
{
    written = value;
}

void constant_good(void)
{
    char *p = malloc(3);
    if (ALWAYS)
        free(p);
}

void constant_bad(void)
{
    char *p = malloc(3); // alloc @constant
    if (!ALWAYS)
        free(p);
} // leak @constant: p

void unwritten_good(void)
{
    char *p = malloc(3);
    if (never_written == 5)
        free(p);
}

void unwritten_bad(void)
{
    char *p = malloc(3); // alloc @unwritten
    if (never_written != 5)
        free(p);
} // leak @unwritten: p

void written_bad(void)
{
    char *p = malloc(3); // alloc @written
    if (written)
        free(p);
} // leak @written: p

void written_same_good(void)
{
    char *p = NULL;
    if (written)
        p = malloc(3);
    if (written)
        free(p);
}

void function_good(void)
{
    char *p = malloc(3);
    if (returns_one())
        free(p);
}

void function_bad(void)
{
    char *p = malloc(3); // alloc @function
    if (returns_limit() < LIMIT)
        free(p);
} // leak @function: p

void opaque_bad(void)
{
    char *p = malloc(3); // alloc @opaque
    if (opaque())
        free(p);
} // leak @opaque: p

void opaque_both_good(void)
{
    char *p = malloc(3);
    if (opaque())
        free(p);
    else
        free(p);
}

// NULL is nothing to free.
void null_good(void)
{
    char *p = malloc(3);
    if (p == NULL)
        return;
    free(p);
}

void null_other_way_good(void)
{
    char *p = malloc(3);
    if (p != NULL) {
        p[0] = 0;
        free(p);
    }
}

void null_wrong_bad(void)
{
    char *p = malloc(3); // alloc @null
    if (p == NULL)
        free(p);
} // leak @null: p

int null_and_more_good(int flag)
{
    char *p = malloc(3);
    if (!p || flag) {
        free(p);
        return -1;
    }
    free(p);
    return 0;
}

int null_and_more_bad(int flag)
{
    char *p = malloc(3); // alloc @more
    if (!p || flag)
        return -1; // leak @more: p
    free(p);
    return 0;
}

int both_or_none_bad(void)
{
    char *a = malloc(3); // alloc @first
    char *b = malloc(4); // alloc @second
    if (!a || !b)
        return -1; // leak @first: a; leak @second: b
    free(a);
    free(b);
    return 0;
}

// Ranges.
void range_good(int n)
{
    char *p = NULL;
    if (n > 10)
        p = malloc(n);
    if (n > 5)
        free(p);
}

void range_bad(int n)
{
    char *p = NULL;
    if (n > 5)
        p = malloc(n); // alloc @range
    if (n > 10)
        free(p);
} // leak @range: p

void counted_good(int n)
{
    char *p = NULL;
    int made = 0;
    if (n > 3) {
        p = malloc(n);
        made = 1;
    }
    if (made)
        free(p);
}

void state_good(int n)
{
    enum { NONE, HEAP, STACK } where = NONE;
    char room[10], *p = NULL;
    if (n > 10) {
        p = malloc(n);
        where = HEAP;
    } else if (n > 0) {
        p = room;
        where = STACK;
    }
    if (p)
        p[0] = 0;
    if (where == HEAP)
        free(p);
}

void state_bad(int n)
{
    enum { NONE, HEAP, STACK } where = NONE;
    char room[10], *p = NULL;
    if (n > 10) {
        p = malloc(n); // alloc @state
        where = HEAP;
    } else if (n > 0) {
        p = room;
        where = STACK;
    }
    if (p)
        p[0] = 0;
    if (where == STACK)
        free(p);
} // leak @state: p

// Loops.
void loop_runs_good(void)
{
    char *p = malloc(3);
    int done = 0;
    while (!done) {
        free(p);
        done = 1;
    }
}

void loop_once_good(int n)
{
    char *p = malloc(3);
    for (int i = 0; i < n; i++) {
        free(p);
        p = NULL;
    }
    free(p);
}

void loop_overwritten_bad(int n)
{
    char *p = NULL;
    for (int i = 0; i < n; i++)
        p = malloc(i); // alloc @loop; leak @loop: p
    free(p);
}

void loop_retry_good(void)
{
    char *p;
    do {
        p = malloc(3);
    } while (p == NULL);
    free(p);
}

void loop_search_good(int n)
{
    char *found = NULL;
    for (int i = 0; i < n; i++) {
        char *candidate = malloc(10);
        if (!candidate)
            break;
        if (opaque()) {
            found = candidate;
            break;
        }
        free(candidate);
    }
    free(found);
}

void loop_search_bad(int n)
{
    char *found = NULL;
    for (int i = 0; i < n; i++) {
        char *candidate = malloc(10); // alloc @search
        if (!candidate)
            break;
        if (opaque())
            found = candidate; // leak @search: found
        else
            free(candidate);
    }
    free(found);
}

void switch_good(int n)
{
    char *p = NULL;
    switch (n) {
    case 1:
    case 2:
        p = malloc(n);
        break;
    case 3:
        p = strdup("three");
        break;
    }
    if (n >= 1 && n <= 3)
        free(p);
}

void ternary_good(int n)
{
    char *p = n ? malloc(n) : NULL;
    n ? free(p) : (void)0;
}

void comparison_of_addresses_good(char *given)
{
    char *p = given ? given : malloc(10);
    if (p)
        p[0] = 0;
    if (p != given)
        free(p);
}

void counted_down_bad(void)
{
    char *p = malloc(10); // alloc @down
    int n = 5;
    while (n-- > 0)
        opaque();
    if (n < 0)
        opaque();
} // leak @down: p

void counted_down_good(void)
{
    char *p = malloc(10);
    int n = 5;
    while (n > 0)
        n--;
    if (n == 0)
        free(p);
}

struct tagged {
    int tag;
    char *text;
};

static void tagged_end(struct tagged *t)
{
    switch (t->tag) {
    case 0:
        break;
    case 1:
        free(t->text);
        break;
    default:
        opaque();
    }
}

void tagged_good(void)
{
    struct tagged t = { 1, malloc(10) };
    tagged_end(&t);
}

void tagged_other_bad(void)
{
    struct tagged t = { 2, malloc(10) }; // alloc @tagged
    tagged_end(&t);
} // leak @tagged: t.text

// The loop ends the block on a way that leaves it, and so does what follows
// only on another: clang sends both through the end of the scope of `larger`.
char *left_from_loop_bad(const char *text, int count)
{
    int i;
    char *copy = strdup(text), *all = NULL; // alloc @left
    if (!copy)
        return NULL;
    for (i = 0; i < count; i++) {
        char *larger = realloc(all, i + 1);
        if (!larger) {
            free(copy);
            return all;
        }
        all = larger;
        all[i] = copy[0];
    }
    return all; // leak @left: copy
}

char *left_from_loop_good(const char *text, int count)
{
    int i;
    char *copy = strdup(text), *all = NULL;
    if (!copy)
        return NULL;
    for (i = 0; i < count; i++) {
        char *larger = realloc(all, i + 1);
        if (!larger) {
            free(copy);
            return all;
        }
        all = larger;
        all[i] = copy[0];
    }
    free(copy);
    return all;
}

// A loop that releases is taken to run, but it is not on this way.
int before_loop_bad(const char *text, int count)
{
    char *copy = strdup(text); // alloc @before
    if (!copy)
        return -1;
    if (count < 0)
        return -1; // leak @before: copy
    for (int i = 0; i < count; i++) {
        if (copy)
            free(copy);
        copy = NULL;
    }
    return 0;
}

// A place in a text that was found, or not: the answer stays.
int found_twice_good(const char *text)
{
    char *copy = NULL;
    const char *colon = strchr(text, ':');
    if (colon)
        copy = strdup(text);
    puts(text);
    if (colon == NULL)
        return 1;
    free(copy);
    return 0;
}

int found_twice_bad(const char *text)
{
    char *copy = strdup(text); // alloc @found
    const char *colon = strchr(text, ':');
    if (colon)
        puts(colon);
    if (!colon)
        return 1; // leak @found: copy
    free(copy);
    return 0;
}

// Numbers of errors in the place of pointers, as the Linux kernel has them.
static void *error_pointer(long error)
{
    return (void *)error;
}

static int is_error(const void *pointer)
{
    return (unsigned long)pointer >= (unsigned long)-4095;
}

struct set {
    char *data;
};

static void set_free(struct set *set)
{
    if (!set || is_error(set))
        return;
    free(set->data);
    free(set);
}

static struct set *set_new(size_t size)
{
    struct set *set = calloc(1, sizeof *set);
    if (!set)
        return error_pointer(-12);
    set->data = malloc(size);
    if (!set->data) {
        set_free(set);
        return error_pointer(-12);
    }
    return set;
}

int error_pointer_good(size_t size)
{
    struct set *set = set_new(size);
    if (is_error(set))
        return (int)(long)set;
    set->data[0] = 0;
    set_free(set);
    return 0;
}

int error_pointer_bad(size_t size)
{
    char *copy = malloc(size); // alloc @error
    struct set *set = set_new(size);
    if (is_error(set))
        return (int)(long)set; // leak @error: copy
    set_free(set);
    free(copy);
    return 0;
}

// What the default of one `switch` has made, that of another of the same cases releases.
int kinds_good(unsigned kind)
{
    char *data = NULL;
    switch (kind) {
    case 1: case 2: case 3: case 4: case 5: case 9: case 12:
        visible++;
        break;
    default:
        data = malloc(kind);
        break;
    }
    visible += 2;
    switch (kind) {
    case 1: case 2: case 3: case 4: case 5:
        return 1;
    case 9: case 12:
        return 2;
    default:
        free(data);
    }
    return 0;
}

int kinds_bad(unsigned kind)
{
    char *data = NULL;
    switch (kind) {
    case 1: case 2: case 3: case 4: case 5: case 9: case 12:
        visible++;
        break;
    default:
        data = malloc(kind); // alloc @kinds
        break;
    }
    visible += 2;
    switch (kind) {
    case 1: case 2: case 3: case 4: case 5: case 6:
        return 1; // leak @kinds: data
    case 9: case 12:
        return 2;
    default:
        free(data);
    }
    return 0;
}
