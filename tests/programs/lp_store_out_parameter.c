// A function stores its result through a pointer to the caller's pointer, which still has an earlier one.
// stdout: gzip, deflate
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct header {
    const char *name;
    const char *value;
};

static int find_header(const struct header *headers, const char *name, char **out) {
    for (; headers->name != NULL; headers++)
        if (strcmp(headers->name, name) == 0) {
            *out = strdup(headers->value);    // lost: 1 block, 9 bytes; leaks: overwritten *out
            return 0;
        }
    return -1;
}

static int negotiate(const struct header *headers) {
    char *value = NULL;

    if (find_header(headers, "TE", &value) == 0 && strstr(value, "chunked") == NULL)    // last used
        return -1;
    if (find_header(headers, "Accept-Encoding", &value) != 0)
        return -1;
    puts(value);
    free(value);
    return 0;
}

int main(void) {
    static const struct header headers[] = {
        {"Host", "example.org"}, {"TE", " chunked"}, {"Accept-Encoding", "gzip, deflate"}, {NULL, NULL}};

    return negotiate(headers) == 0 ? 0 : 1;
}
