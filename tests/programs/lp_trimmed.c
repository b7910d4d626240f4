// A copy is trimmed: the variable that had it alone goes on in the block by way of another.
// valgrind -O2: differs: gcc inlines count_words: line is in the register of results until main's printf needs it
// stdout: 4
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *skip_space(char *at) {
    while (*at == ' ')
        at++;
    return at;
}

static int count_words(const char *text) {
    char *line = strdup(text);    // lost: 1 block, 22 bytes
    char *start = line;
    line = skip_space(start);
    int words = 0;
    for (size_t i = 0; line[i] != '\0'; i++)    // last used
        words += i == 0 || line[i - 1] == ' ';
    return words;    // leaks: scope-end ?
}

int main(void) {
    printf("%d\n", count_words("  the quick brown fox"));
    return 0;
}
