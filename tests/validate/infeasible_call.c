// The caller has tested what the callee tests again.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *copy(const char *text, size_t length)
{
    char *result = malloc(length + 1);                          // @guarded MA
    if (!result)
        return NULL;
    if (length > 8)                                             // @guarded BT
        return NULL;                                            // @guarded LK = likely-not-leak
    memcpy(result, text, length);
    result[length] = 0;
    return result;
}

int main(void)
{
    char text[16];
    size_t length = fread(text, 1, 12, stdin);
    if (length > 6)
        return 1;
    char *result = copy(text, length);
    free(result);
    return 0;
}
