// A list that begins anew at a certain entry: both branches end with the same store, which the optimiser joins.
// stdout: gamma alpha
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct entry {
    char name[16];
    struct entry *next;
};

struct list {
    int count;
    struct entry *head;
};

static struct list *read_list(const char *const *names, int count) {
    struct list *list = calloc(1, sizeof *list);

    for (int i = 0; i < count; i++) {
        struct entry *entry = calloc(1, sizeof *entry);    // lost: 1 block, 24 bytes
        strcpy(entry->name, names[i]);
        if (strcmp(entry->name, "begin") == 0) {
            list->count = 0;
            list->head = entry;        // leaks: overwritten list->head
        } else {
            entry->next = list->head;
            list->head = entry;        // last used
        }
    }
    return list;
}

int main(void) {
    static const char *const names[] = {"one", "begin", "alpha", "gamma"};
    struct list *list = read_list(names, 4);

    printf("%s %s\n", list->head->name, list->head->next->name);
    for (struct entry *entry = list->head; entry != NULL;) {
        struct entry *next = entry->next;
        free(entry);
        entry = next;
    }
    free(list);
    return 0;
}
