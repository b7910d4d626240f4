// A local is overwritten by the next candidate: the longest line so far is copied, the former copy is not freed.
// stdin: alpha
// stdin: be
// stdin: gamma ray
// stdin: the longest of these lines
// stdout: the longest of these lines
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t read_line(char *line, size_t size) {
    if (fgets(line, size, stdin) == NULL)
        return 0;
    line[strcspn(line, "\n")] = '\0';
    return 1;
}

static int print_longest(void) {
    char line[128];
    char *longest = NULL;

    while (read_line(line, sizeof line)) {
        size_t length = longest != NULL ? strlen(longest) : 0;    // last used
        if (strlen(line) > length)
            longest = strdup(line);    // lost: 2 blocks, 16 bytes; leaks: overwritten longest
    }
    if (longest == NULL)
        return 1;
    puts(longest);
    free(longest);    // frees: 1 block
    return 0;
}

int main(void) {
    return print_longest();
}
