// alloca'd memory of a live frame holds its blocks at exit; that of a frame that returned does not.
// engines: track
// Under preload see alloca_gap.c.
// exit: 1
#include <alloca.h>
#include <stdlib.h>
#include <string.h>

static void keep_names(int count, int fatal) {
    char **names = alloca((size_t)count * sizeof *names);

    for (int i = 0; i < count; i++)
        names[i] = malloc(fatal ? 30 : 20);    // forgotten: 6 blocks, 180 bytes; lost: 5 blocks, 100 bytes
    if (fatal)
        exit(1);
}

int main(void) {
    keep_names(5, 0);
    keep_names(6, 1);
    return 0;
}
