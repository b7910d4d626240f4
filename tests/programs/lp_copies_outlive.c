// Copies and steps of one pointer die in turn; the last of them to go is the leak point, whichever was first.
// valgrind -O2: differs: gcc has the words in registers alone: a comparison, or the last use, is told
// stdout: 3 3 6
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t first_word(void) {
    char *text = strdup("one two");       // lost @inner: 1 block, 8 bytes
    char *kept = text;
    {
        char *end = text;
        while (*end != ' ')
            end++;
        text = NULL;
        if (end - kept > 2)
            return (size_t)(end - kept);  // leaks @inner: scope-end ?
    }
    free(kept);
    return 0;
}

static size_t step_over(void) {
    char *text = strdup("  six");         // lost @stepped: 1 block, 6 bytes
    char *at = text;

    for (char *look = at; *look == ' '; look++)
        at = look + 1;
    text = NULL;
    size_t length = strlen(at);
    at = NULL;                            // leaks @stepped: overwritten at
    return length;
}

static size_t two_ways(int upper) {
    char *name = strdup(upper ? "SEVEN" : "eight!");    // lost @ways: 1 block, 7 bytes
    char *shown = upper ? name + 1 : name;
    size_t length = strlen(shown);

    if (upper)
        free(name);
    return length;                        // leaks @ways: scope-end ?
}

int main(void) {
    size_t a = first_word(), b = step_over(), c = two_ways(0);
    printf("%zu %zu %zu\n", a, b, c);
    return 0;
}
