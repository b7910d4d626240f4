// An array that owns strings is emptied by realloc to zero bytes, which frees it.
// stdout: 3 tags of up to 5 letters, then 0
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tags {
    size_t count;
    char **names;
};

static void resize(struct tags *tags, size_t count) {
    size_t bytes = count * sizeof *tags->names;

    tags->names = realloc(tags->names, bytes);    // leaks: holder-freed ?
    tags->count = count;
}

static void add(struct tags *tags, const char *name) {
    resize(tags, tags->count + 1);
    tags->names[tags->count - 1] = strdup(name);    // lost: 3 blocks, 16 bytes
}

static size_t longest(const struct tags *tags) {
    size_t longest = 0;

    for (size_t i = 0; i < tags->count; i++) {
        size_t length = strlen(tags->names[i]);    // last used
        longest = length > longest ? length : longest;
    }
    return longest;
}

int main(void) {
    static const char *const names[] = {"blue", "fast", "round"};
    struct tags tags = {0};

    for (int i = 0; i < 3; i++)
        add(&tags, names[i]);
    printf("%zu tags of up to %zu letters", tags.count, longest(&tags));
    resize(&tags, 0);
    printf(", then %zu\n", tags.count);
    return 0;
}
