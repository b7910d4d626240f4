// getline allocates for each turn, as the buffer is declared inside the loop and freed only on the way out.
// valgrind: differs: gcc leaves no instruction where the body of a loop ends: the next pass over it, or the return, is seen instead
// stdin: one
// stdin: two words
// stdin: three
// stdout: 4 words
#define _GNU_SOURCE
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

static int words_in(const char *line) {
    int words = 0;

    for (const char *c = line; *c != '\0'; c++)    // last used
        words += isspace((unsigned char)*c) != 0;
    return words;
}

static int count_words(FILE *input) {
    int words = 0;

    for (;;) {
        char *line = NULL;
        size_t size = 0;
        if (getline(&line, &size, input) < 0) {    // lost: 3 blocks, 360 bytes
            free(line);    // frees: 1 block
            return words;
        }
        words += words_in(line);
    }    // leaks: scope-end line
}

int main(void) {
    printf("%d words\n", count_words(stdin));
    return 0;
}
