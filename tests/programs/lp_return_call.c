// A function returns what another call gives it, from the middle: the statement is that one, not the last.
// valgrind -O2: differs: full is in a register that the result of strdup is put aside for
// stdout: io.advance
// stdout: advance
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *qualified(const char *module, const char *name) {
    char *full = malloc(strlen(module) + strlen(name) + 2);    // lost: 1 block, 15 bytes
    sprintf(full, "%s.%s", module, name);
    if (strlen(full) > 12)
        return strdup(name);    // leaks: scope-end full
    return full;
}

int main(void) {
    static const char *const modules[] = {"io", "parser"};
    for (int i = 0; i < 2; i++) {
        char *name = qualified(modules[i], "advance");
        puts(name);
        free(name);
    }
    return 0;
}
