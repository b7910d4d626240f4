// A variable-length array of lines ends at the early return; the ones that were read before are lost with it.
// valgrind -O2: differs: gcc inlines read_block: its array is one of main's, and dies with it
// stdin: first
// stdin: second
// stdout: 2 of 4 lines
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int read_block(FILE *input, int wanted) {
    char *lines[wanted];
    char buffer[64];
    int count = 0;

    while (count < wanted) {
        if (fgets(buffer, sizeof buffer, input) == NULL)
            return count;    // leaks: scope-end ?
        lines[count] = strdup(buffer);    // lost: 2 blocks, 15 bytes; last used
        count++;
    }
    for (int i = 0; i < count; i++) {
        fputs(lines[i], stdout);
        free(lines[i]);
    }
    return count;
}

int main(void) {
    int count = read_block(stdin, 4);

    printf("%d of 4 lines\n", count);
    return 0;
}
