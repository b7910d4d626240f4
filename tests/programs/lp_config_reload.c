// A reload copies the fresh configuration over the one in use and frees the fresh one's shell: the old strings are lost.
// stdout: www 8080
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct config {
    char *root;
    char *log;
    int port;
};

static struct config current;

static struct config *parse(const char *root, const char *log, int port) {
    struct config *config = calloc(1, sizeof *config);
    config->root = strdup(root);    // lost @root: 1 block, 7 bytes
    if (log != NULL)
        config->log = strdup(log);    // lost @log: 1 block, 11 bytes
    config->port = port;
    return config;
}

static void reload(const char *root, const char *log, int port) {
    struct config *fresh = parse(root, log, port);

    if (current.log != NULL && log == NULL)
        fprintf(stderr, "no more log in %s\n", current.log);
    current = *fresh;    // leaks @root: overwritten current.root; leaks @log: overwritten current.log
    free(fresh);
}

int main(void) {
    reload("public", "access.log", 80);
    reload("www", NULL, 8080);
    printf("%s %d\n", current.root, current.port);
    free(current.root);
    free(current.log);
    return 0;
}
