// Objects of a pool that hands out parts of its slabs: a lost one is told as a block of its own, the slab is not. Its functions cannot be preloaded: the program does not export them.
// valgrind-totals -O2: differs: gcc inlines pool_get and pool_put in main, so that some of the pool's objects are not seen
// valgrind -O2: differs: gcc inlines pool_get and pool_put in main, so that some of the pool's objects are not seen
// config: [[allocator]]
// config: alloc = "pool_get"
// config: bytes = 24
// config: free = "pool_put"
// config: pointer = 1
// config: destroy = "pool_destroy"
// engines: track valgrind
// stdout: 1 contact, 2 refused
// memcheck: differs: it knows nothing of the pool: what the slabs hold is reachable
// lsan: differs: it knows nothing of the pool: what the slabs hold is reachable
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SLAB = 32 };

struct slab {
    struct slab *next;
    char objects[SLAB][24];
};

struct pool {
    struct slab *slabs;
    int used;
    void *returned;
};

static void *pool_get(struct pool *pool) {
    void *object = pool->returned;
    if (object != NULL) {
        memcpy(&pool->returned, object, sizeof pool->returned);
        return object;
    }
    if (pool->slabs == NULL || pool->used == SLAB) {
        struct slab *slab = malloc(sizeof *slab);
        slab->next = pool->slabs;
        pool->slabs = slab;
        pool->used = 0;
    }
    return pool->slabs->objects[pool->used++];
}

static void pool_put(struct pool *pool, void *object) {
    memcpy(object, &pool->returned, sizeof pool->returned);
    pool->returned = object;
}

static void pool_destroy(struct pool *pool) {
    while (pool->slabs != NULL) {
        struct slab *slab = pool->slabs;
        pool->slabs = slab->next;
        free(slab);
    }
}

struct contact {
    struct contact *next;
    char *name;
    int age;
};

static struct pool contacts;
static struct contact *book;

static struct contact *contact_new(const char *name, int age) {
    struct contact *contact = pool_get(&contacts); // lost @early: 2 blocks, 48 bytes; lost @over: 1 block, 24 bytes; forgotten: 1 block, 24 bytes
    contact->next = NULL;
    contact->name = strdup(name); // indirect @names: 2 blocks, 12 bytes; indirect @over: 1 block, 4 bytes; lost @name: 1 block, 8 bytes; forgotten: 1 block, 4 bytes
    contact->age = age;
    return contact;
}

static int book_add(const char *name, int age) {
    struct contact *contact = contact_new(name, age);
    if (contact->age < 0)
        return -1; // leaks @early: scope-end contact
    contact->next = book;
    book = contact;
    return 0;
}

static void book_remove_first(void) {
    struct contact *first = book;
    book = first->next;
    free(first->name);
    pool_put(&contacts, first); // frees @early: 1 block
}

static void book_forget_first(void) {
    struct contact *first = book;
    book = first->next;
    pool_put(&contacts, first); // leaks @name: holder-freed first->name
}

int main(void) {
    struct pool other = {0};
    for (int i = 0; i < 100; i++)
        pool_get(&other);
    pool_destroy(&other);

    int refused = 0;
    const char *names[] = {"Elias", "Edith", "Ada", "Grace"};
    for (int i = 0; i < 4; i++)
        refused += book_add(names[i], i < 2 ? -1 : 40 + i) < 0;
    book_remove_first();
    book_add("Barbara", 3);

    struct contact *guest = contact_new("Kay", 20);
    guest = book; // leaks @over: overwritten guest
    book_forget_first();
    guest = book;
    printf("%d contact, %d refused\n", guest != NULL, refused);
    return 0;
}
