// Each turn of a loop makes a local of its own and ends it at the closing brace: one block is lost each time.
// valgrind: differs: gcc leaves no instruction where the body of a loop ends: the last statement in it is told
// lsan: differs: an old word on the dead stack hides a block
// stdout: 4 of 5 are palindromes
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void reverse(char *text) {
    for (size_t i = 0, j = strlen(text); i + 1 < j; i++) {
        char left = text[i];
        text[i] = text[--j];
        text[j] = left;
    }
}

static int count_palindromes(const char *const *words, int count) {
    int found = 0;

    for (int i = 0; i < count; i++) {
        char *mirrored = strdup(words[i]);    // lost: 5 blocks, 27 bytes
        reverse(mirrored);
        found += strcmp(mirrored, words[i]) == 0;    // last used
    }    // leaks: scope-end mirrored
    return found;
}

int main(void) {
    static const char *const words[] = {"level", "noon", "kayak", "leak", "otto"};

    printf("%d of 5 are palindromes\n", count_palindromes(words, 5));
    return 0;
}
