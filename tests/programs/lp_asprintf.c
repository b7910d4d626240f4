// asprintf builds a path from itself and stores over the pointer to what it has just read.
// valgrind-variable: differs: the last copy is the argument that asprintf put aside, which has no name
// stdout: /usr/share/doc/leak
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>

static char *path_of(const char *const *parts) {
    char *path = NULL;

    if (asprintf(&path, "/%s", *parts++) < 0)    // lost @first: 1 block, 5 bytes
        return NULL;
    for (; *parts != NULL; parts++)
        if (asprintf(&path, "%s/%s", path, *parts) < 0)    // lost @next: 2 blocks, 26 bytes; leaks @first: overwritten path; leaks @next: overwritten path; last used @first; last used @next
            return NULL;
    return path;
}

int main(void) {
    static const char *const parts[] = {"usr", "share", "doc", "leak", NULL};
    char *path = path_of(parts);

    puts(path);
    free(path);
    return 0;
}
