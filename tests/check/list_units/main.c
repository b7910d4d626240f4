#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "list.h"

int all_good(void)
{
    struct list *list = list_new();
    if (!list)
        return -1;
    char *text = strdup("x");
    if (!text || list_append(list, text) < 0)
        free(text);
    list_free_items(list);
    return 0;
}

int kept_good(struct list *list)
{
    char *text = strdup("x");
    if (!text)
        return -1;
    if (list_append(list, text) < 0) {
        free(text);
        return -1;
    }
    return 0;
}

int early_bad(const char *name)
{
    struct list *list = list_new();
    if (!list)
        return -1;
    char *text = strdup(name);
    if (!text)
        return -1; // leak @list: list
    free(text);
    list_free(list);
    return 0;
}

int not_appended_bad(struct list *list)
{
    char *text = strdup("x"); // alloc @append
    if (!text)
        return -1;
    if (list_append(list, text) < 0)
        return -1; // leak @append: text
    return 0;
}

void borrowed_good(void)
{
    struct list *list = list_new();
    char text[] = "x";
    if (!list)
        return;
    list_append(list, text);
    list_free(list);
}
