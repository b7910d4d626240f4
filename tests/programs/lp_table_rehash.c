// A hash table of settings with rehash; replacing a value frees the old value but an entry that is deleted keeps its key.
// stdout: 5 entries, 8 buckets
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct entry {
    struct entry *next;
    unsigned hash;
    char *key;
    char *value;
};

struct table {
    struct entry **buckets;
    size_t size, used;
};

static unsigned hash_of(const char *s) {
    unsigned h = 5381;
    while (*s)
        h = h * 33 + (unsigned char)*s++;
    return h;
}

static void grow(struct table *t) {
    size_t size = t->size ? t->size * 2 : 2;
    struct entry **fresh = calloc(size, sizeof *fresh);    // lost @array: 2 blocks, 48 bytes
    for (size_t i = 0; i < t->size; i++) {
        struct entry *e = t->buckets[i];    // last used @array
        while (e) {
            struct entry *next = e->next;
            e->next = fresh[e->hash % size];
            fresh[e->hash % size] = e;
            e = next;
        }
    }
    t->buckets = fresh;    // leaks @array: overwritten t->buckets
    t->size = size;
}

static struct entry **find(struct table *t, const char *key) {
    unsigned h = hash_of(key);
    struct entry **at = &t->buckets[h % t->size];
    while (*at && ((*at)->hash != h || strcmp((*at)->key, key)))
        at = &(*at)->next;
    return at;
}

static void put(struct table *t, const char *key, const char *value) {
    if (t->used >= t->size)
        grow(t);
    struct entry **at = find(t, key);
    if (*at) {
        free((*at)->value);
        (*at)->value = strdup(value);
        return;
    }
    struct entry *e = malloc(sizeof *e);
    e->hash = hash_of(key);
    e->key = strdup(key);    // lost @key: 1 block, 6 bytes
    e->value = strdup(value);
    e->next = NULL;
    *at = e;
    t->used++;
}

static void del(struct table *t, const char *key) {
    struct entry **at = find(t, key), *dead = *at;
    if (!dead)
        return;
    *at = dead->next;
    free(dead->value);
    free(dead);    // leaks @key: holder-freed dead->key
    t->used--;
}

int main(void) {
    static const char *const names[] = {"width", "height", "depth", "color", "title", "font"};
    struct table t = {0};
    for (size_t i = 0; i < 6; i++)
        put(&t, names[i], "x");
    put(&t, "color", "red");
    del(&t, "width");
    printf("%zu entries, %zu buckets\n", t.used, t.size);
    for (size_t i = 0; i < t.size; i++)
        for (struct entry *e = t.buckets[i], *next; e; e = next) {
            next = e->next;
            free(e->key);    // frees @key: 5 blocks
            free(e->value);
            free(e);
        }
    free(t.buckets);    // frees @array: 1 block
    return 0;
}
