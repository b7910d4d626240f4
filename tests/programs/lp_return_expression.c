// The returned expression is the last to look at the joined path; nothing can free it afterwards.
// lsan: differs: an old word on the dead stack hides a block
// stdout: short: fits, long: does not fit
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_LIMIT = 24 };

static char *join(const char *folder, const char *file) {
    size_t size = strlen(folder) + 1 + strlen(file) + 1;
    char *path = malloc(size);    // lost: 2 blocks, 48 bytes
    snprintf(path, size, "%s/%s", folder, file);
    return path;
}

static int fits(const char *folder, const char *file) {
    char *path = join(folder, file);

    for (char *c = path; *c != '\0'; c++)
        if (*c == '\\')
            *c = '/';
    return strlen(path) < PATH_LIMIT;    // last used; leaks: scope-end path
}

int main(void) {
    printf("short: %s", fits("/tmp", "a.txt") ? "fits" : "does not fit");
    printf(", long: %s\n", fits("/var/lib/archive", "december-report.txt") ? "fits" : "does not fit");
    return 0;
}
