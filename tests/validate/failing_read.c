// read() fails after the buffer was made.
#include <stdlib.h>
#include <unistd.h>

static int load(void)
{
    char *buffer = malloc(32);                                  // @buffer MA
    if (!buffer)
        return 1;
    ssize_t got = read(0, buffer, 32);
    if (got < 0)                                                // @buffer BT
        return 2;                                               // @buffer LK = must-leak
    free(buffer);
    return 0;
}

int main(void)
{
    return load();
}
