// The single return at the end of a function with cleanup of all but one of its buffers.
// valgrind -O2: differs: gcc inlines count: seen is in a register until main returns
// stdout: 4 words, 15 letters
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct counts {
    int words, letters;
};

static int count(const char *text, struct counts *counts) {
    int status = -1;
    char *upper = strdup(text);
    unsigned char *seen = calloc(256, 1);    // lost: 1 block, 256 bytes

    if (upper != NULL && seen != NULL) {
        for (char *c = upper; *c != '\0'; c++)
            *c = (char)toupper((unsigned char)*c);
        for (const char *c = upper; *c != '\0'; c++) {
            counts->words += isalpha((unsigned char)*c) && (c == upper || c[-1] == ' ');
            counts->letters += *c != ' ';
            seen[(unsigned char)*c] = 1;
        }
        status = seen['Z'];    // last used
    }
    free(upper);
    return status;    // leaks: scope-end seen
}

int main(void) {
    struct counts counts = {0, 0};

    if (count("four words of text", &counts) != 0)
        return 1;
    printf("%d words, %d letters\n", counts.words, counts.letters);
    return 0;
}
