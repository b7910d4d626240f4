/* A pool for each request; one is never destroyed. */
#include <apr_general.h>
#include <apr_pools.h>
#include <apr_strings.h>
#include <stdio.h>
#include <string.h>

static int handle(apr_pool_t *server, const char *path)
{
    apr_pool_t *request;
    apr_pool_create(&request, server);
    char *copy = apr_pstrdup(request, path);
    char *query = strchr(copy, '?');
    if (query != NULL && query[1] == '\0')
        return 400;
    printf("%s\n", copy);
    apr_pool_destroy(request);
    return 200;
}

int main(void)
{
    apr_initialize();
    apr_pool_t *server;
    apr_pool_create(&server, NULL);
    int statuses[3];
    const char *paths[] = {"/index.html", "/search?", "/search?q=leak"};
    for (int i = 0; i < 3; i++)
        statuses[i] = handle(server, paths[i]);
    printf("%d %d %d\n", statuses[0], statuses[1], statuses[2]);
    return 0;
}
