#include <stdlib.h>

#include "list.h"

struct item {
    struct item *next;
    char *text;
};

struct list {
    struct item *first;
};

struct list *list_new(void)
{
    return calloc(1, sizeof(struct list)); // alloc @list
}

int list_append(struct list *list, char *text)
{
    struct item *item = malloc(sizeof *item);
    if (!item)
        return -1;
    item->text = text;
    item->next = list->first;
    list->first = item;
    return 0;
}

char *list_take(struct list *list)
{
    struct item *item = list->first;
    if (!item)
        return NULL;
    char *text = item->text;
    list->first = item->next;
    free(item);
    return text;
}

// Takes the items, and leaves their texts to others.
void list_free(struct list *list)
{
    struct item *item = list->first;
    while (item) {
        struct item *next = item->next;
        free(item);
        item = next;
    }
    free(list);
}

void list_free_items(struct list *list)
{
    char *text;
    while ((text = list_take(list)) != NULL)
        free(text);
    list_free(list);
}
