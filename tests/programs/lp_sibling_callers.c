// Requests are read in two places, and freed after the first alone: the siblings have another caller.
// stdout: GET /index
// stdout: bad request
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct request {
    char *method;
    char *path;
};

static void request_free(struct request *request) {
    free(request->method);    // frees @method: 1 block
    free(request->path);
    free(request);            // frees @request: 1 block
}

static struct request *request_read(const char *line) {
    struct request *request = calloc(1, sizeof *request);    // lost @request: 1 block, 16 bytes
    const char *space = strchr(line, ' ');

    request->method = strndup(line, (size_t)(space - line));    // indirect @method: 1 block, 4 bytes
    if (space[1] != '/')
        return NULL;    // leaks @request: scope-end request; leaks @method: scope-end request
    request->path = strdup(space + 1);
    return request;
}

int main(void) {
    struct request *request = request_read("GET /index");

    printf("%s %s\n", request->method, request->path);
    request_free(request);
    if (request_read("PUT index") == NULL)
        puts("bad request");
    return 0;
}
