// A parameter is given a new string, and then another: the first one is lost although the caller still has its own.
// stdout: /home/ada/notes/todo.txt
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const home = "/home/ada";

static char *expand_home(const char *path) {
    size_t size = strlen(home) + strlen(path);
    char *expanded = malloc(size);    // lost: 1 block, 21 bytes
    snprintf(expanded, size, "%s%s", home, path + 1);
    return expanded;
}

static char *with_suffix(const char *path, const char *suffix) {
    size_t size = strlen(path) + strlen(suffix) + 1;
    char *full = malloc(size);
    snprintf(full, size, "%s%s", path, suffix);    // last used
    return full;
}

static int show(const char *path) {
    char *owned = NULL;

    if (path[0] == '~')
        path = expand_home(path);
    if (strchr(path, '.') == NULL)
        path = owned = with_suffix(path, ".txt");    // leaks: overwritten path
    puts(path);
    free(owned);
    return 0;
}

int main(int argc, char **argv) {
    return show(argc > 1 ? argv[1] : "~/notes/todo");
}
