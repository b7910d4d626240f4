// Functions without a result: one returns behind a condition, the other falls off its end behind one.
// stdout: /src, /src/lib, 0 long of 4
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int seen, longer;

__attribute__((noinline)) static void show(const char *base, const char *name) {
    size_t size = strlen(base) + strlen(name) + 2;
    char *path = malloc(size);    // lost @hidden: 1 block, 6 bytes

    snprintf(path, size, "%s/%s", base, name);    // last used @hidden
    if (name[0] == '.')
        return;    // leaks @hidden: scope-end path
    printf("%s, ", path);
    free(path);    // frees @hidden: 2 blocks
}

__attribute__((noinline)) static void measure(const char *word) {
    char *copy = strdup(word);    // lost @word: 4 blocks, 16 bytes

    for (char *at = copy; *at != '\0'; at++)
        *at = (char)toupper((unsigned char)*at);
    seen++;
    if (strlen(copy) > 4)    // last used @word
        longer++;
}    // leaks @word: scope-end copy

int main(void) {
    show("", "src");
    show("/src", "lib");
    show("", ".git");
    measure("to");
    measure("tree");
    measure("one");
    measure("ten");
    printf("%d long of %d\n", longer, seen);
    return 0;
}
