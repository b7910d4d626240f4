// Returns of one value behind messages of their own: gcc sets the value once, with the line of the first of them.
// stdout: 3 a/b
// stdout: cannot enter: Success
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__attribute__((noinline)) static char *enter(char *copy, const char *path, size_t size)
{
    if (!strchr(path, '/'))
        return NULL;
    return strncat(copy, path, size - 1);
}

__attribute__((noinline)) static int visit(const char *path)
{
    int found = -1;
    size_t size = 32;
    char *copy;
retry:
    if (!(copy = malloc(size))) { // lost: 1 block, 32 bytes
        printf("no memory: %s\n", strerror(errno));
        return (-1);
    }
    copy[0] = 0;
    if (!enter(copy, path, size)) { // last used
        if (errno == ERANGE) {
            free(copy);
            size = size * 2;
            goto retry;
        } else {
            printf("cannot enter: %s\n", strerror(errno));
            return (-1); // leaks: scope-end copy
        }
    }
    found = (int)strlen(copy);
    printf("%d %s\n", found, copy);
    free(copy);
    return (found);
}

int main(void)
{
    int sum = visit("a/b");
    errno = 0;
    sum += visit("c");
    return sum == 2 ? 0 : 1;
}
