// A cache that hands out references, with users that borrow from it in between: one user forgets a reference each time.
// engines: track valgrind
// valgrind -O2: differs: gcc inlines it all, and in registers: a function stands for the variables that it has there
// options: --explain
// stdout: 2482
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct entry {
    struct entry *next;
    int key;
    unsigned refs;
    char data[8];
};

static struct entry *cache;

static struct entry *entry_get(struct entry *entry) {
    entry->refs++;
    return entry;
}

static void entry_put(struct entry *entry) {
    if (--entry->refs == 0)
        free(entry);
}

static struct entry *cache_get(int key) {
    for (struct entry *entry = cache; entry != NULL; entry = entry->next)
        if (entry->key == key)
            return entry_get(entry);
    struct entry *entry = calloc(1, sizeof *entry); // lost: 1 block, 24 bytes; counted: 2 references, 1 holder
    entry->key = key;
    entry->refs = 1;
    strcpy(entry->data, "data");
    entry->next = cache;
    cache = entry;
    return entry_get(entry);
}

static void cache_drop(void) {
    while (cache != NULL) {
        struct entry *entry = cache;
        cache = entry->next;
        entry->next = NULL;
        entry_put(entry);
    }
}

static int cache_sum(void) {
    int sum = 0;
    for (struct entry *entry = cache; entry != NULL; entry = entry->next)
        sum += entry->key + entry->data[0];
    return sum;
}

static int read_first(int key) {
    struct entry *entry = cache_get(key);
    int first = entry->data[1];
    entry_put(entry);
    return first;
}

static int read_second(int key) {
    struct entry *entry = cache_get(key);
    int second = entry->data[2];
    if (key == 2)
        return 0; // leaks: scope-end entry
    entry_put(entry);
    return second;
}

int main(void) {
    int sum = 0;
    for (int key = 0; key < 4; key++)
        sum += read_first(key) + read_second(key) + cache_sum();
    for (int key = 3; key >= 0; key--)
        sum += read_first(key) + (key == 2 ? 0 : read_second(key));
    cache_drop();
    printf("%d\n", sum);
    return 0;
}
