// A cache takes the slot of the oldest page for a new one: the entry is reused, the old page's body is not freed.
// stdout: 5 loads, 1 hit
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct entry {
    int page;
    unsigned age;
    char *body;
};

static struct entry cache[3];
static unsigned now;
static int loads, hits;

static char *load(int page) {
    char *body = malloc(20);    // lost: 2 blocks, 40 bytes
    snprintf(body, 20, "page %d", page);
    loads++;
    return body;
}

static const char *lookup(int page) {
    struct entry *oldest = &cache[0];

    for (int i = 0; i < 3; i++) {
        if (cache[i].body != NULL && cache[i].page == page) {
            cache[i].age = ++now;
            hits++;
            return cache[i].body;
        }
        if (cache[i].age < oldest->age)
            oldest = &cache[i];
    }
    oldest->page = page;
    oldest->age = ++now;
    oldest->body = load(page);    // leaks: overwritten oldest->body
    return oldest->body;
}

int main(void) {
    static const int wanted[] = {1, 2, 3, 1, 4, 5};

    for (int i = 0; i < 6; i++)
        if (atoi(lookup(wanted[i]) + 5) != wanted[i])    // last used
            return 1;
    printf("%d loads, %d hit\n", loads, hits);
    for (int i = 0; i < 3; i++)
        free(cache[i].body);    // frees: 3 blocks
    return 0;
}
