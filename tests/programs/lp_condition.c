// The result of an allocating call is only compared in a condition, and dropped there.
// valgrind -O2: differs: gcc inlines resolve: what is compared and dropped is the result of its strdup
// stdout: /etc is a folder
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *resolve(const char *folder, const char *name) {
    char path[64];

    if (name[0] == '\0')
        return NULL;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return strdup(path);    // lost: 1 block, 5 bytes; last used
}

static int kind_of(const char *name) {
    static const char *const folders[] = {"etc", "usr", "var"};

    for (size_t i = 0; i < 3; i++)
        if (strcmp(folders[i], name) == 0)
            return 'd';
    return '-';
}

static int is_folder(const char *name) {
    if (resolve("", name) == NULL)    // leaks: discarded
        return 0;
    return kind_of(name) == 'd';
}

int main(void) {
    if (is_folder("") || !is_folder("etc"))
        return 1;
    puts("/etc is a folder");
    return 0;
}
