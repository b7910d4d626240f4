// A configuration tree of three kinds of blocks hangs on one local: all of it is lost by one return.
// valgrind-totals -O2: differs: gcc drops the block of the configuration and keeps its one pointer in a register
// valgrind -O2: differs: gcc drops the block of the configuration and keeps its one pointer in a register, which the count of the keys overwrites
// stdout: net has 2 keys
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct key {
    struct key *next;
    char *value;
};

struct section {
    char name[8];
    struct key *keys;
};

struct configuration {
    struct section *section;
    int line;
};

static void add_key(struct section *section, const char *value) {
    struct key *key = malloc(sizeof *key);    // indirect @key: 2 blocks, 32 bytes
    key->value = strdup(value);               // indirect @value: 2 blocks, 15 bytes; last used @value
    key->next = section->keys;
    section->keys = key;
}

static struct configuration *configure(const char *name) {
    struct configuration *configuration = calloc(1, sizeof *configuration);    // lost @root: 1 block, 16 bytes
    configuration->section = calloc(1, sizeof *configuration->section);        // indirect @section: 1 block, 16 bytes
    snprintf(configuration->section->name, sizeof configuration->section->name, "%s", name);
    add_key(configuration->section, "port 80");
    add_key(configuration->section, "slow 0");
    return configuration;
}

static int count_keys(const struct section *section) {
    int count = 0;

    for (const struct key *key = section->keys; key != NULL; key = key->next)    // last used @key; last used @section
        count++;
    return count;
}

static int summarise(void) {
    struct configuration *configuration = configure("net");
    int keys = count_keys(configuration->section);    // last used @root

    printf("net has %d keys\n", keys);
    return keys;    // leaks @root: scope-end configuration; leaks @section: scope-end configuration; leaks @key: scope-end configuration; leaks @value: scope-end configuration
}

int main(void) {
    return summarise() == 2 ? 0 : 1;
}
