// Freeing a list stops one node early if it has more than two.
#include <stdio.h>
#include <stdlib.h>

struct node {
    int value;
    struct node *next;
};

static struct node *push(struct node *list, int value)
{
    struct node *node = malloc(sizeof *node);                   // @tail MA
    if (!node)
        return list;
    node->value = value;
    node->next = list;
    return node;
}

static void release(struct node *list, int count)
{
    while (list) {
        struct node *next = list->next;
        free(list);
        if (count > 2 && next && !next->next)                   // @tail BT
            return;                                             // @tail LK = must-leak lost
        list = next;
    }
}

int main(void)
{
    struct node *list = NULL;
    int c, count = 0;
    while (count < 5 && (c = getchar()) != EOF) {
        list = push(list, c);
        count++;
    }
    release(list, count);
    return 0;
}
