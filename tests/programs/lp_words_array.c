// A line is split into an array of copies; the array is freed, the words are not.
// valgrind-variable -O2: differs: the element is known by its number
// stdout: longest: performance
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char **split(const char *line, size_t *count) {
    char **words = NULL;
    size_t used = 0;

    while (*line != '\0') {
        size_t length = strcspn(line, " ");
        words = realloc(words, (used + 1) * sizeof *words);
        words[used++] = strndup(line, length);    // lost: 3 blocks, 24 bytes
        line += length + (line[length] == ' ');
    }
    *count = used;
    return words;
}

static void print_longest(const char *line) {
    size_t count, longest = 0;
    char **words = split(line, &count);

    for (size_t i = 1; i < count; i++)
        if (strlen(words[i]) > strlen(words[longest]))
            longest = i;
    printf("longest: %s\n", words[longest]);
    free(words);    // leaks: holder-freed words[i]
}

int main(void) {
    print_longest("measure the performance");
    return 0;
}
