// All paths go through one cleanup label, which frees all but one: the local ends at the return below, not at the goto.
// valgrind -O2: differs: gcc inlines import: header is in a register until main returns
// exit: 1
// stdout: no key in line 2
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct sheet {
    const char *const *lines;
    int count;
};

static int import(const struct sheet *sheet) {
    int status = 1;
    char *header = NULL, *line = NULL;

    header = strdup(sheet->lines[0]);    // lost: 1 block, 9 bytes
    if (strncmp(header, "key", 3) != 0)
        goto cleanup;
    for (int i = 1; i < sheet->count; i++) {
        free(line);
        line = strdup(sheet->lines[i]);
        if (line[0] == ',') {
            printf("no %.3s in line %d\n", header, i);    // last used
            goto cleanup;
        }
    }
    status = 0;
cleanup:
    free(line);
    return status;    // leaks: scope-end header
}

int main(void) {
    static const char *const lines[] = {"key,name", "1,one", ",two", "3,three"};
    struct sheet sheet = {lines, 4};

    return import(&sheet);
}
