// A variable of the environment.
// options: --sym-args 0 0 --sym-stdin 0
#include <stdlib.h>
#include <string.h>

static int mode(void)
{
    char *copy = malloc(16);                                    // @mode MA
    const char *value = getenv("MODE");
    if (!copy)
        return 1;
    if (value && strcmp(value, "debug") == 0)                   // @mode BT
        return 2;                                               // @mode LK = must-leak lost
    free(copy);
    return 0;
}

int main(void)
{
    return mode();
}
