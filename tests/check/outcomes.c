// What a function did can be told from what it returns: cases are kept apart at the call.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct table {
    char *slots[16];
    int used;
};

extern int condition(void);

// 0 and *out is set, or -1 and nothing was allocated.
static int make(char **out)
{
    char *p = malloc(16);
    if (!p)
        return -1;
    *out = p;
    return 0;
}

void make_good(void)
{
    char *p;
    if (make(&p) != 0)
        return;
    free(p);
}

void make_good_negative(void)
{
    char *p;
    if (make(&p) < 0)
        return;
    free(p);
}

void make_good_stored(void)
{
    char *p;
    int failed = make(&p);
    if (failed)
        return;
    free(p);
}

int make_good_nested(char **out)
{
    char *p;
    if (make(&p) == -1)
        return -1;
    if (condition()) {
        free(p);
        return -2;
    }
    *out = p;
    return 0;
}

// The same with the allocation named here, so that it can leak.
static int make_other(char **out)
{
    char *p = malloc(16); // alloc @early; alloc @twice
    if (!p)
        return -1;
    *out = p;
    return 0;
}

int make_bad(void)
{
    char *p;
    if (make_other(&p) != 0)
        return -1;
    if (condition())
        return -2; // leak @early: p
    free(p);
    return 0;
}

// Errors come as an errno: nonzero is failure.
static int make_errno(char **out, size_t size)
{
    if (size == 0)
        return EINVAL;
    *out = malloc(size);
    return *out ? 0 : ENOMEM;
}

int make_errno_good(size_t size)
{
    char *p = NULL;
    int error = make_errno(&p, size);
    if (error)
        return error;
    p[0] = 1;
    free(p);
    return 0;
}

// Frees p only if the flag says so.
static void release_if(char *p, int flag)
{
    if (flag)
        free(p);
}

void release_if_good(void)
{
    char *p = malloc(3);
    release_if(p, 1);
}

void release_if_bad(void)
{
    char *p = malloc(3); // alloc @flag
    release_if(p, 0);
} // leak @flag: p

// The owner keeps it if the flag says so: the same flag decides both.
void same_flag_good(int flag)
{
    char *p = flag ? malloc(3) : NULL;
    if (flag)
        free(p);
}

void same_flag_twice_good(int flag)
{
    char room[8];
    char *p = room;
    if (flag > 7)
        p = malloc(flag + 1);
    if (!p)
        return;
    memset(p, 0, 8);
    if (flag > 7)
        free(p);
}

void same_pointer_good(int count)
{
    char room[64];
    char *p = room;
    if (count > (int)sizeof room)
        p = malloc(count);
    if (p)
        memset(p, 0, sizeof room);
    if (p != room)
        free(p);
}

void other_flag_bad(int flag, int other)
{
    char *p = NULL;
    if (flag)
        p = malloc(3); // alloc @other
    if (other)
        free(p);
} // leak @other: p

// Stored in the table only on success.
static int add(struct table *table, char *name)
{
    if (table->used == 16)
        return -1;
    table->slots[table->used++] = name;
    return 0;
}

int add_good(struct table *table)
{
    char *name = strdup("name");
    if (!name)
        return -1;
    if (add(table, name) < 0) {
        free(name);
        return -1;
    }
    return 0;
}

int add_bad(struct table *table)
{
    char *name = strdup("name"); // alloc @add
    if (!name)
        return -1;
    if (add(table, name) < 0)
        return -1; // leak @add: name
    return 0;
}

int add_unchecked_bad(struct table *table)
{
    char *name = strdup("name"); // alloc @unchecked
    if (!name)
        return -1;
    add(table, name);
    return 0; // leak @unchecked: name
}

// Returns the block, or NULL after it was freed.
static char *filled(size_t size)
{
    char *p = malloc(size);
    if (!p)
        return NULL;
    if (condition()) {
        free(p);
        return NULL;
    }
    return p;
}

void filled_good(void)
{
    char *p = filled(3);
    if (!p)
        return;
    free(p);
}

// Takes the block when it succeeds, and leaves it when it fails.
static int consume(char *p)
{
    if (p[0] == 'x')
        return 0;
    free(p);
    return 1;
}

void consume_good(void)
{
    char *p = strdup("abc");
    if (!p)
        return;
    if (!consume(p))
        free(p);
}

void consume_bad(void)
{
    char *p = strdup("abc"); // alloc @consume
    if (!p)
        return;
    consume(p);
} // leak @consume: p

// One of two outputs is set, as the returned number says.
static int choose(int wish, char **first, char **second)
{
    if (wish == 1) {
        *first = malloc(1);
        return 1;
    }
    if (wish == 2) {
        *second = malloc(2); // alloc @second
        return 2;
    }
    return 0;
}

void choose_good(int wish)
{
    char *first, *second;
    switch (choose(wish, &first, &second)) {
    case 1:
        free(first);
        break;
    case 2:
        free(second);
        break;
    }
}

void choose_bad(int wish)
{
    char *first, *second;
    switch (choose(wish, &first, &second)) {
    case 1:
        free(first);
        break;
    case 2:
        break;
    }
} // leak @second: second

// An output that is NULL when it fails.
static void try_make(char **out)
{
    *out = NULL;
    if (condition())
        *out = malloc(9);
}

void try_make_good(void)
{
    char *p;
    try_make(&p);
    if (p == NULL)
        return;
    free(p);
}

// Two calls, the second of which may fail.
int two_good(void)
{
    char *a, *b;
    if (make(&a))
        return -1;
    if (make(&b)) {
        free(a);
        return -1;
    }
    free(a);
    free(b);
    return 0;
}

int two_bad(void)
{
    char *a, *b;
    if (make_other(&a))
        return -1;
    if (make(&b))
        return -1; // leak @twice: a
    free(a);
    free(b);
    return 0;
}

// A place for the result may be missing, in the callee and in a wrapper.
static int take_text(const char *from, char **text, size_t *length)
{
    if (text)
        *text = NULL;
    if (length)
        *length = 0;
    if (!*from)
        return -1;
    if (text) {
        *text = strdup(from); // alloc @place
        if (!*text)
            return -2;
    }
    if (length)
        *length = strlen(from);
    return 0;
}

static int take_text_of(const char **from, char **text, size_t *length)
{
    return take_text(*from, text, length);
}

int no_place_good(const char *from)
{
    char *text = NULL;
    int result;
    if ((result = take_text_of(&from, &text, NULL)) != 0 || (result = take_text_of(&from, NULL, NULL)) != 0)
        goto out;
    puts(text);
out:
    free(text);
    return result;
}

int no_place_bad(const char *from)
{
    char *text = NULL;
    if (take_text_of(&from, &text, NULL) != 0 || take_text_of(&from, NULL, NULL) != 0)
        return -1; // leak @place: text
    puts(text);
    free(text);
    return 0;
}

// A descriptor is not -1, so the callee does what it does for others.
static void forget_descriptor(int *descriptor)
{
    if (*descriptor != -1)
        *descriptor = -1; // leak @forgotten: *descriptor
}

static void end_descriptor(int *descriptor)
{
    if (*descriptor != -1) {
        close(*descriptor);
        *descriptor = -1;
    }
}

void forgotten_descriptor_bad(void)
{
    int descriptor = open("x", O_RDONLY); // alloc @forgotten
    if (descriptor < 0)
        return;
    forget_descriptor(&descriptor);
}

void forgotten_descriptor_good(void)
{
    int descriptor = open("x", O_RDONLY);
    if (descriptor < 0)
        return;
    end_descriptor(&descriptor);
}

// How much is copied is the caller's to say.
static void exchange(void *one, void *other, size_t bytes)
{
    char room[16];
    memcpy(room, one, bytes);
    memcpy(one, other, bytes);
    memcpy(other, room, bytes);
}

void exchanged_bad(void)
{
    char *text = strdup("x"), *other = NULL; // alloc @exchanged
    exchange(&text, &other, sizeof text);
    free(text);
} // leak @exchanged: other

void exchanged_good(void)
{
    char *text = strdup("x"), *other = NULL;
    exchange(&text, &other, sizeof text);
    free(other);
}
