// A node that is counted by ref and unref: the table drops its reference, the loader forgot its own before that; a function forgets the one that it took of what it was given.
// engines: track
// options: --explain
// stdout: 13
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct node {
    int refcnt;
    char name[28];
};

static struct node *node_new(const char *name) {
    struct node *node = malloc(sizeof *node); // lost @load: 1 block, 32 bytes; counted @load: 2 references, 1 holder; lost @own: 1 block, 32 bytes; counted @own: 2 references, 1 holder
    node->refcnt = 1;
    strncpy(node->name, name, sizeof node->name - 1);
    return node;
}

static struct node *node_ref(struct node *node) {
    node->refcnt++;
    return node;
}

static void node_unref(struct node *node) {
    if (--node->refcnt == 0)
        free(node);
}

static struct node *table[8];
static int used;

static void table_add(struct node *node) {
    table[used++] = node_ref(node);
}

static size_t table_letters(void) {
    size_t letters = 0;
    for (int i = 0; i < used; i++)
        letters += strlen(table[i]->name);
    return letters;
}

static void table_clear(void) {
    while (used > 0) {
        struct node *node = table[--used];
        table[used] = NULL;
        node_unref(node);
    }
}

static int load(const char *name) {
    struct node *node = node_new(name);
    table_add(node);
    if (strlen(node->name) > 5)
        return -1; // leaks @load: scope-end node
    node_unref(node);
    return 0;
}

static int capitalise(struct node *given) {
    struct node *own = node_ref(given);
    if (own->name[0] < 'a')
        return -1; // leaks @own: scope-end own
    own->name[0] += 'A' - 'a';
    node_unref(own);
    return 0;
}

int main(void) {
    struct node *twice = node_new("edsger");
    capitalise(twice);
    capitalise(twice);
    node_unref(twice);
    load("ada");
    load("babbage");
    load("kay");
    printf("%zu\n", table_letters());
    table_clear();
    return 0;
}
