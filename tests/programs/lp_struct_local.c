// A struct on the stack owns two strings; the function that filled it returns without giving them back.
// valgrind -O2: differs: gcc inlines fetch and keeps request in registers: host goes with main, path with the call of printf
// lsan: differs: old words on the dead stack hide blocks
// stdout: example.org accepts /index.html
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct request {
    int secure;
    char *host;
    char *path;
};

static int parse_url(struct request *request, const char *url) {
    const char *host = strstr(url, "://");

    if (host == NULL)
        return -1;
    request->secure = url[4] == 's';
    host += 3;
    size_t length = strcspn(host, "/");
    request->host = strndup(host, length);      // lost @host: 1 block, 12 bytes
    request->path = strdup(host + length);      // lost @path: 1 block, 12 bytes
    return 0;
}

static int fetch(const char *url) {
    struct request request;

    if (parse_url(&request, url) != 0)
        return -1;
    if (!request.secure)
        printf("%s accepts %s\n", request.host, request.path);    // last used @host; last used @path
    return request.secure;    // leaks @host: scope-end request.host; leaks @path: scope-end request.path
}

int main(void) {
    return fetch("http://example.org/index.html");
}
