// What is one of several things, and was found not to be null.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern int size_of(const char *text);

struct set {
    int count;
    int *elements;
};

struct state {
    struct set *entrance;
};

struct machine {
    struct state **log;
    struct set *sets;
    int length;
    int room;
};

static int log_grow(struct machine *machine, int at)
{
    if (at >= machine->room) {
        struct state **log = realloc(machine->log, (at + 1) * sizeof *log);
        if (!log)
            return -1;
        machine->log = log;
        machine->room = at + 1;
    }
    while (machine->length <= at)
        machine->log[machine->length++] = NULL;
    return 0;
}

static int set_union(struct set *to, const struct set *one, const struct set *other)
{
    to->elements = malloc((one->count + other->count) * sizeof *to->elements); // alloc @union
    if (!to->elements)
        return -1;
    to->count = one->count + other->count;
    return 0;
}

static struct state *state_of(struct machine *machine, const struct set *set)
{
    struct state *state = calloc(1, sizeof *state);
    if (!state)
        abort();
    state->entrance = &machine->sets[set->count];
    return state;
}

// A set is made where there is a state, and freed by the same test after another state was stored there.
int union_freed_good(struct machine *machine, int count)
{
    for (int i = 0; i < count; i++) {
        struct set set;
        int at = machine->sets[i].count;
        if (log_grow(machine, at))
            return -1;
        struct state *state = machine->log[at];
        if (state == NULL)
            set = machine->sets[i];
        else if (set_union(&set, state->entrance, &machine->sets[i]))
            return -1;
        machine->log[at] = state_of(machine, &set);
        if (state != NULL)
            free(set.elements);
    }
    return 0;
}

int union_freed_bad(struct machine *machine, int count)
{
    for (int i = 0; i < count; i++) {
        struct set set;
        int at = machine->sets[i].count;
        if (log_grow(machine, at))
            return -1;
        struct state *state = machine->log[at];
        if (state == NULL)
            set = machine->sets[i];
        else if (set_union(&set, state->entrance, &machine->sets[i]))
            return -1;
        machine->log[at] = state_of(machine, &set);
        if (state == NULL && size_of("set") == 0)
            free(set.elements);
    } // leak @union: set.elements
    return 0;
}

// A text that is made in one of several ways, or not at all.
struct node {
    struct node *next, *child;
    const char *tag, *text;
};

static void text_add(char **text, const struct node *node)
{
    if (node->text == NULL) {
        for (node = node->child; node != NULL; node = node->next)
            text_add(text, node);
        return;
    }
    if (*text == NULL) {
        *text = strdup(node->text);
        if (*text == NULL)
            abort();
        return;
    }
    char *longer = malloc(strlen(*text) + strlen(node->text) + 1);
    if (!longer)
        abort();
    strcat(strcpy(longer, *text), node->text);
    free(*text);
    *text = longer;
}

static char *name_of(const struct node *node)
{
    char *name;
    if (node->tag != NULL) {
        name = strdup(node->tag); // alloc @name
        if (name == NULL)
            abort();
    } else {
        name = NULL;
        text_add(&name, node);
        if (name == NULL)
            return NULL;
    }
    for (char *letter = name; *letter != 0; letter++)
        if (*letter == ' ')
            *letter = '_';
    return name;
}

void names_print_good(const struct node *node, int flags)
{
    char *id = NULL, *link = NULL;
    if (flags & 1)
        id = name_of(node);
    if (flags & 2)
        link = id == NULL ? name_of(node) : id;
    if (link != NULL)
        puts(link);
    free(id);
    if (id == NULL)
        free(link);
}

void names_print_bad(const struct node *node, int flags)
{
    char *id = NULL, *link = NULL;
    if (flags & 1)
        id = name_of(node);
    if (flags & 2)
        link = id == NULL ? name_of(node) : id;
    if (link != NULL)
        puts(link);
    free(id);
} // leak @name: link

// A member of what was found is not null.
struct buffer {
    struct buffer *next;
    char text[8];
};

struct buffer *unused;

static char *buffer_text(void)
{
    struct buffer *buffer = unused;
    if (buffer == NULL)
        abort();
    unused = buffer->next;
    return buffer->text;
}

void buffered_good(const char *line)
{
    char *copy = strdup(line);
    if (!copy)
        return;
    char *text = buffer_text();
    if (!text)
        return;
    strncpy(text, copy, 7);
    free(copy);
}

void buffered_bad(const char *line)
{
    char *copy = strdup(line); // alloc @buffered
    if (!copy)
        return;
    char *text = buffer_text();
    if (!text[0])
        return; // leak @buffered: copy
    strncpy(text, copy, 7);
    free(copy);
}
