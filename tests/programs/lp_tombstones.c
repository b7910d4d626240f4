// A hash table marks what is deleted, and leaves it out when it grows: the old slots held the last pointers to those keys.
// stdout: 5 live of 7
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum state { EMPTY, LIVE, DEAD };

struct slot {
    enum state state;
    char *key;
};

struct map {
    struct slot *slots;
    size_t capacity, live, used;
};

static struct slot *probe(struct slot *slots, size_t capacity, const char *key) {
    size_t at = (size_t)(unsigned char)key[0] % capacity;

    while (slots[at].state != EMPTY && (slots[at].state == DEAD || strcmp(slots[at].key, key) != 0))
        at = (at + 1) % capacity;
    return &slots[at];
}

static void grow(struct map *map) {
    struct slot *old = map->slots;
    size_t count = map->capacity;

    map->capacity = count ? 2 * count : 4;
    map->slots = calloc(map->capacity, sizeof *map->slots);
    map->used = map->live;
    for (size_t i = 0; i < count; i++)
        if (old[i].state == LIVE)
            *probe(map->slots, map->capacity, old[i].key) = old[i];
    free(old);    // leaks: holder-freed ?
}

static void put(struct map *map, const char *key) {
    if (4 * map->used >= 3 * map->capacity)
        grow(map);
    struct slot *slot = probe(map->slots, map->capacity, key);
    if (slot->state == LIVE)
        return;
    slot->key = strdup(key);    // lost: 2 blocks, 8 bytes
    slot->state = LIVE;
    map->live++;
    map->used++;
}

static void erase(struct map *map, const char *key) {
    struct slot *slot = probe(map->slots, map->capacity, key);

    if (slot->state == LIVE) {
        slot->state = DEAD;
        map->live--;
    }
}

static void map_free(struct map *map) {
    for (size_t i = 0; i < map->capacity; i++)
        if (map->slots[i].state == LIVE)
            free(map->slots[i].key);    // frees: 5 blocks
    free(map->slots);
}

int main(void) {
    static const char *const words[] = {"one", "two", "six", "ten", "red", "sky", "ash"};
    struct map map = {NULL, 0, 0, 0};

    for (int i = 0; i < 7; i++) {
        put(&map, words[i]);
        if (i == 1 || i == 2)
            erase(&map, words[2 - i]);
    }
    printf("%zu live of 7\n", map.live);
    map_free(&map);
    return 0;
}
