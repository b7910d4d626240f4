// One of several early returns skips the free: a request without a colon leaves the copied line behind.
// stdout: GET: 3, : -1, /x: -2, PUT: 3
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int parse_method(const char *request) {
    if (request[0] == '\0')
        return -1;
    char *line = strdup(request);    // lost: 1 block, 3 bytes
    char *colon = strchr(line, ':');    // last used
    if (colon == NULL)
        return -2;    // leaks: scope-end line
    *colon = '\0';
    int length = (int)strlen(line);
    if (length > 7) {
        free(line);
        return -3;
    }
    free(line);    // frees: 2 blocks
    return length;
}

int main(void) {
    static const char *const requests[] = {"GET: /", "", "/x", "PUT: /y"};
    int found[4];

    for (int i = 0; i < 4; i++)
        found[i] = parse_method(requests[i]);
    printf("GET: %d, : %d, /x: %d, PUT: %d\n", found[0], found[1], found[2], found[3]);
    return 0;
}
