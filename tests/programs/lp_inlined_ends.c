// Optimised code shares one end between the returns of a function, and has the variables of inlined functions in the frame around them.
// stdout: 5 -1 4 -2 12
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct text {
    char *bytes;
    size_t length, room;
};

__attribute__((noinline)) static void add(struct text *t, const char *more) {
    size_t n = strlen(more);
    if (t->length + n + 1 > t->room) {
        t->room = 2 * (t->length + n + 1);
        t->bytes = realloc(t->bytes, t->room);    // lost @inlined: 1 block, 12 bytes
    }
    memcpy(t->bytes + t->length, more, n + 1);
    t->length += n;
}

static int joined_length(const char *a, const char *b) {
    struct text t = {0};
    add(&t, a);
    if (t.length > 4)
        return (int)t.length;    // leaks @inlined: scope-end t.bytes
    add(&t, b);
    int n = (int)t.length;
    free(t.bytes);
    return n;
}

__attribute__((noinline)) static char *word_of(const char *line) {
    return strndup(line, strcspn(line, "="));    // lost @empty: 1 block, 1 bytes; lost @long: 1 block, 12 bytes
}

__attribute__((noinline)) static int check(const char *line, int limit) {
    char *word = word_of(line);
    int n = (int)strlen(word);
    if (n == 0)
        return -1;    // leaks @empty: scope-end word
    if (n > limit)
        return -2;    // leaks @long: scope-end word
    for (int i = 0; i < n; i++)
        n += word[i] == '-';
    free(word);
    return n;
}

int main(void) {
    int a = joined_length("abcde", "f");
    int b = check("=x", 10), c = check("name=x", 10), d = check("a-long-name=1", 10);
    int e = joined_length("abc", "defghijkl");
    printf("%d %d %d %d %d\n", a, b, c, d, e);
    return 0;
}
