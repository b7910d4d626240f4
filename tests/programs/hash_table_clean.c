// A word counter with a growing hash table and interned keys: all is freed, nothing is left.
// stdin: the cat and the dog and the bird
// stdout: the 3
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct entry {
    struct entry *next;
    int count;
    char word[];
};

static struct entry **buckets;
static size_t bucket_count, entry_count;

static size_t hash(const char *word) {
    size_t value = 5381;
    while (*word != '\0')
        value = value * 33 + (unsigned char)*word++;
    return value;
}

static void grow(void) {
    size_t count = bucket_count == 0 ? 2 : bucket_count * 2;
    struct entry **larger = calloc(count, sizeof *larger);

    for (size_t i = 0; i < bucket_count; i++)
        for (struct entry *entry = buckets[i], *next; entry != NULL; entry = next) {
            size_t place = hash(entry->word) % count;
            next = entry->next;
            entry->next = larger[place];
            larger[place] = entry;
        }
    free(buckets);
    buckets = larger;
    bucket_count = count;
}

static struct entry *intern(const char *word) {
    if (entry_count >= bucket_count)
        grow();
    struct entry **bucket = &buckets[hash(word) % bucket_count];
    for (struct entry *entry = *bucket; entry != NULL; entry = entry->next)
        if (strcmp(entry->word, word) == 0)
            return entry;
    struct entry *entry = malloc(sizeof *entry + strlen(word) + 1);
    strcpy(entry->word, word);
    entry->count = 0;
    entry->next = *bucket;
    *bucket = entry;
    entry_count++;
    return entry;
}

static void free_table(void) {
    for (size_t i = 0; i < bucket_count; i++)
        for (struct entry *entry = buckets[i], *next; entry != NULL; entry = next) {
            next = entry->next;
            free(entry);
        }
    free(buckets);
}

int main(void) {
    char word[64];

    while (scanf("%63s", word) == 1)
        intern(word)->count++;
    printf("the %d\n", intern("the")->count);
    free_table();
    return 0;
}
