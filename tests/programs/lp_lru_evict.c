// An LRU cache with intrusive lists; eviction unlinks the oldest entry and frees its data, not the entry.
// valgrind -O2: differs: gcc inlines evict and reads the data before it unlinks: the last store to the list is seen
// stdout: hits 1 size 2
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct link {
    struct link *prev, *next;
};

struct page {
    int number;
    struct link lru;
    char *data;
};

#define page_of(l) ((struct page *)((char *)(l) - offsetof(struct page, lru)))
#include <stddef.h>

static struct link lru = {&lru, &lru};
static int size, hits;

static void unlink_one(struct link *l) {
    l->prev->next = l->next;
    l->next->prev = l->prev;
}

static void push(struct link *l) {
    l->next = lru.next;
    l->prev = &lru;
    lru.next->prev = l;
    lru.next = l;
}

static void evict(void) {
    struct page *oldest = page_of(lru.prev);
    unlink_one(&oldest->lru);
    free(oldest->data);    // last used
    size--;
}    // leaks: scope-end oldest

static struct page *get(int number) {
    for (struct link *l = lru.next; l != &lru; l = l->next)
        if (page_of(l)->number == number) {
            hits++;
            unlink_one(l);
            push(l);
            return page_of(l);
        }
    if (size == 2)
        evict();
    struct page *p = malloc(sizeof *p);    // lost: 2 blocks, 64 bytes
    p->number = number;
    p->data = malloc(64);
    memset(p->data, number, 64);
    push(&p->lru);
    size++;
    return p;
}

int main(void) {
    get(1);
    get(2);
    get(1);
    get(3);
    get(4);
    printf("hits %d size %d\n", hits, size);
    while (lru.next != &lru) {
        struct page *p = page_of(lru.next);
        unlink_one(&p->lru);
        free(p->data);
        free(p);
    }
    return 0;
}
