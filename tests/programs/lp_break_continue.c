// continue and break leave the loop's body by different ways, both before the free at its end.
// valgrind -O2: differs: gcc has command in a register alone: its last use is told
// stdin: # a comment
// stdin: set depth
// stdin: # another
// stdin: run
// stdin: quit
// stdin: run
// stdout: > set depth
// stdout: > run
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *read_command(FILE *input) {
    char buffer[64];

    if (fgets(buffer, sizeof buffer, input) == NULL)
        return NULL;
    buffer[strcspn(buffer, "\n")] = '\0';
    return strdup(buffer);    // lost @comment: 2 blocks, 22 bytes; lost @quit: 1 block, 5 bytes
}

static void interpret(FILE *input) {
    for (;;) {
        char *command = read_command(input);
        if (command == NULL)
            return;
        if (command[0] == '#')    // last used @comment
            continue;    // leaks @comment: scope-end command
        if (strcmp(command, "quit") == 0)    // last used @quit
            break;    // leaks @quit: scope-end command
        printf("> %s\n", command);
        free(command);    // frees @comment: 2 blocks; frees @quit: 2 blocks
    }
}

int main(void) {
    interpret(stdin);
    return 0;
}
