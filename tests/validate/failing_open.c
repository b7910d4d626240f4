// A file that is not there.
// options: --sym-args 1 4
#include <stdio.h>
#include <stdlib.h>

static int load(const char *path)
{
    char *buffer = malloc(128);                                 // @buffer MA
    if (!buffer)
        return 1;
    FILE *file = fopen(path, "r");
    if (!file)                                                  // @buffer BT
        return 2;                                               // @buffer LK = must-leak
    if (!fgets(buffer, 128, file))
        buffer[0] = 0;
    fclose(file);
    free(buffer);
    return 0;
}

int main(int argc, char **argv)
{
    return argc > 1 ? load(argv[1]) : 0;
}
