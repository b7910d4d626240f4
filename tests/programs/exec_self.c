// A program that starts itself again by exec: what the first image lost is gone with it, the second reports.
// Not under Valgrind, where /proc/self/exe is Valgrind itself.
// engines: track preload
// args: first
// memcheck: differs: /proc/self/exe is memcheck there
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void lose(size_t size) {
    char *volatile table = malloc(size);    // lost: 1 block, 200 bytes
    table[0] = 1;
    table = NULL;
}

int main(int argc, char **argv) {
    if (argc != 2)
        return 2;
    if (strcmp(argv[1], "first") == 0) {
        lose(100);
        execl("/proc/self/exe", argv[0], "second", NULL);
        return 3;
    }
    lose(200);
    return 0;
}
