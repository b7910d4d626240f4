// A table's put returns the value it displaced, for the caller to free; this caller ignores the result.
// gap: -O2: the optimiser leaves no use on the line
// stdout: en: hello, fr: bonjour
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct entry {
    char key[8];
    char *value;
};

static struct entry table[8];

static char *put(const char *key, const char *value) {
    for (size_t i = 0; i < 8; i++) {
        struct entry *entry = &table[i];
        if (entry->key[0] != '\0' && strcmp(entry->key, key) != 0)
            continue;
        char *displaced = entry->value;
        snprintf(entry->key, sizeof entry->key, "%s", key);
        entry->value = strdup(value);    // lost: 1 block, 6 bytes
        return displaced;    // last used
    }
    return NULL;
}

static const char *get(const char *key) {
    for (size_t i = 0; i < 8; i++)
        if (strcmp(table[i].key, key) == 0)
            return table[i].value;
    return NULL;
}

int main(void) {
    free(put("en", "hi"));
    free(put("fr", "salut"));
    free(put("en", "hello"));
    put("fr", "bonjour");    // leaks: discarded
    printf("en: %s, fr: %s\n", get("en"), get("fr"));
    for (size_t i = 0; i < 8; i++)
        free(table[i].value);
    return 0;
}
