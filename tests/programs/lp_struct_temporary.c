// Structures that calls return are used where they are, and nobody frees what they hold.
// valgrind: differs: a function that gets a small structure stores it in its own frame; others lie in the caller's until it returns
// lsan: differs: what the temporary held is still in main's frame
// stdout: abab ababab, b, 5
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct text {
    char *bytes;
    size_t length;
};

static struct text text_of(const char *bytes) {
    struct text text = {strdup(bytes), strlen(bytes)};    // lost @argument: 1 block, 3 bytes; lost @field: 1 block, 3 bytes
    return text;
}

static struct text joined(struct text left, struct text right) {
    size_t length = left.length + right.length;
    struct text text = {malloc(length + 1), length};    // lost @middle: 1 block, 5 bytes
    memcpy(text.bytes, left.bytes, left.length);        // last used @middle
    memcpy(text.bytes + left.length, right.bytes, right.length + 1);    // last used @argument
    return text;
}

static struct text kept;

static size_t keep(struct text text) {
    free(kept.bytes);    // frees @argument: 1 block; frees @field: 1 block
    kept = text;
    return text.length;
}

int main(void) {
    struct text ab = text_of("ab");
    struct text twice = joined(ab, text_of("ab"));    // leaks @argument: discarded
    struct text thrice = joined(joined(ab, ab), ab);    // leaks @middle: discarded
    char second = text_of("ab").bytes[1];    // last used @field; leaks @field: discarded
    keep(text_of("first"));
    size_t length = keep(text_of("third"));
    printf("%s %s, %c, %zu\n", twice.bytes, thrice.bytes, second, length);
    free(kept.bytes);    // frees @argument: 1 block; frees @field: 1 block
    free(ab.bytes);    // frees @argument: 1 block; frees @field: 1 block
    free(twice.bytes);
    free(thrice.bytes);    // frees @middle: 1 block
    return 0;
}
