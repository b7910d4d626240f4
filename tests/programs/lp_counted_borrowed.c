// Nodes own what their fields hold, and getters and loops borrow it: a destructor forgets a field, and a list the values of the
// nodes that it takes out, while the loop still has them.
// options: --explain
// valgrind: differs: the last pointer is one that was borrowed
// stdout: top has leaf
// stdout: top has leaf
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct node {
    int refs;
    char name[12];
    struct node *child;
};

struct entry {
    struct node *value;
    struct entry *next;
};

static struct node *node_new(const char *name, struct node *child)
{
    struct node *node = malloc(sizeof *node); // lost @child: 1 block, 24 bytes; lost @entry: 2 blocks, 48 bytes; counted @child: 1 reference, 0 holders; counted @entry: 1 reference, 0 holders
    node->refs = 1;
    strcpy(node->name, name);
    node->child = child;
    return node;
}

static struct node *node_ref(struct node *node)
{
    node->refs++;
    return node;
}

static void node_unref(struct node *node)
{
    if (--node->refs > 0)
        return;
    free(node); // leaks @child: holder-freed node->child
}

static struct node *node_child(const struct node *node)
{
    return node->child;
}

static void show(const struct node *node)
{
    struct node *child = node_child(node);
    if (child != NULL)
        printf("%s has %s\n", node->name, child->name);
}

static void list_add(struct entry **list, struct node *value)
{
    struct entry *entry = malloc(sizeof *entry);
    entry->value = value;
    entry->next = *list;
    *list = entry;
}

static struct node *list_first(struct entry *list)
{
    return list != NULL ? list->value : NULL;
}

static void list_drop_first(struct entry **list)
{
    struct entry *entry = *list;
    *list = entry->next;
    free(entry); // leaks @entry: holder-freed entry->value
}

int main(void)
{
    struct node *leaf = node_new("leaf", NULL);
    struct node *top = node_new("top", node_ref(leaf));
    show(top);
    node_unref(leaf);
    show(top);
    node_unref(top);

    struct entry *list = NULL;
    list_add(&list, node_new("one", NULL));
    list_add(&list, node_new("two", NULL));
    struct node *value;
    for (value = list_first(list); value != NULL; value = list_first(list))
        list_drop_first(&list);
    return 0;
}
