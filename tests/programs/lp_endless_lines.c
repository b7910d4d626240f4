// A loop without a condition whose body begins with its variables: each way back to its beginning ends them.
// valgrind -O2: differs: gcc makes one jump of both continues
// stdin: alpha
// stdin: -
// stdin: beta
// stdin: # comment
// stdout: alpha
// stdout: beta
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>

static char *kept[8];
static int count;

static void read_all(FILE *in) {
    for (;;) {
        char *line = NULL;
        size_t room = 0;
        ssize_t n = getline(&line, &room, in);    // lost @short: 1 block, 120 bytes; lost @comment: 1 block, 120 bytes
        if (n < 0) {
            free(line);
            return;
        }
        if (n < 3)
            continue;    // leaks @short: scope-end line
        if (line[0] == '#')
            continue;    // leaks @comment: scope-end line
        kept[count++] = line;
    }
}

int main(void) {
    read_all(stdin);
    for (int i = 0; i < count; i++) {
        fputs(kept[i], stdout);
        free(kept[i]);
    }
    return 0;
}
