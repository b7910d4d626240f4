// realloc fails, and its result replaces the only pointer.
#include <stdio.h>
#include <stdlib.h>

static int fill(void)
{
    size_t size = 2, used = 0;
    int c;
    char *buffer = malloc(size);                                // @grow MA
    if (!buffer)
        return 1;
    while ((c = getchar()) != EOF) {
        if (used == size) {
            buffer = realloc(buffer, size *= 2);
            if (!buffer)                                        // @grow BT
                return 2;                                       // @grow LK = must-leak
        }
        buffer[used++] = (char)c;
    }
    free(buffer);
    return 0;
}

int main(void)
{
    return fill();
}
