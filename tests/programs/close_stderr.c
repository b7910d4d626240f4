// The program closes stderr before it ends, as GNU tools do to see write errors.
// stdout: 3 files
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void close_streams(void) {
    if (fclose(stdout) != 0 || fclose(stderr) != 0)
        _Exit(1);
}

static void add_pattern(const char *pattern) {
    char *copy = strdup(pattern);    // lost: 1 block, 4 bytes
    copy[0] = '?';
    copy = NULL;
}

int main(void) {
    atexit(close_streams);
    add_pattern("*.c");
    puts("3 files");
    return 0;
}
