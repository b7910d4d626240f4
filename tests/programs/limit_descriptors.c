// Started with room for four descriptors, of which it wants the fourth itself.
// Not under Valgrind, which cannot start under the limit.
// engines: track preload
// rlimit: nofile 4
// memcheck: differs: cannot start under the limit
// lsan: differs: does not end, as it gets no descriptor for its own maps
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void lose_key(void) {
    char *key = malloc(84);    // lost: 1 block, 84 bytes
    key[0] = 'k';
    key = NULL;
}

int main(void) {
    int random = open("/dev/zero", O_RDONLY);
    char seed[16];

    if (random < 0 || read(random, seed, sizeof seed) != sizeof seed)
        return 1;
    lose_key();
    return 0;
}
