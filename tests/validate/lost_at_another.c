// What one warning is about is kept in a list that another one drops from: the list holds what was dropped until it goes
// itself, so the place at which it is lost tells nothing of the two.
#include <stdio.h>
#include <stdlib.h>

struct item {
    int key, count;
};

int main(void)
{
    struct item **items = calloc(8, sizeof *items);
    int count = 0, key, kept = 0;
    if (!items)
        return 1;
    while (count < 8 && scanf("%d", &key) == 1) {
        struct item *item = malloc(sizeof *item); // @dropped MA; @merged MA
        if (!item)
            break;
        item->key = key;
        item->count = 1;
        items[count++] = item;
    }
    for (int i = 1; i < count; i++) {
        struct item *last = items[kept];
        if (items[i]->key == last->key) {
            last->count++;
            free(items[i]);
            continue; // @merged LK = likely-not-leak
        }
        if (items[i]->key == -last->key && last->key > 99)
            continue; // @dropped LK = must-leak lost
        items[++kept] = items[i];
    }
    if (count > 0)
        count = kept + 1;
    for (int i = 0; i < count; i++) {
        printf("%d: %d\n", items[i]->key, items[i]->count);
        free(items[i]);
    }
    free(items);
    return 0;
}
