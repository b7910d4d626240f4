// A list whose nodes hold the xor of their neighbours: between its ends no pointer is ever in memory, yet all is freed.
// variants: -O0 -O2
// stdout: 1 2 3 4 5
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct node {
    uintptr_t neighbours;
    int value;
};

struct list {
    struct node *first, *last;
};

static struct node *beyond(const struct node *node, const struct node *came_from) {
    return (struct node *)(node->neighbours ^ (uintptr_t)came_from);
}

static void append(struct list *list, int value) {
    struct node *node = malloc(sizeof *node);

    node->value = value;
    node->neighbours = (uintptr_t)list->last;
    if (list->last != NULL)
        list->last->neighbours ^= (uintptr_t)node;
    else
        list->first = node;
    list->last = node;
}

static void print_and_free(struct list *list) {
    struct node *before = NULL, *node = list->first;

    while (node != NULL) {
        struct node *next = beyond(node, before);
        printf("%d%c", node->value, next != NULL ? ' ' : '\n');
        before = node;
        node = next;
    }
    node = list->last;
    before = NULL;
    while (node != NULL) {
        struct node *next = beyond(node, before);
        before = node;
        free(node);
        node = next;
    }
}

int main(void) {
    struct list list = {NULL, NULL};

    for (int i = 1; i <= 5; i++)
        append(&list, i);
    print_and_free(&list);
    return 0;
}
