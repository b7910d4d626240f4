// What alloca rounds up to shows a word of the call before; without instrumentation it holds its block.
// engines: preload
// exit: 1
// memcheck: differs: knows which words of a frame were written since it was entered
// lsan: differs: clang rounds up to less
// The frames of both calls lie at the same place, and between the return of one and the entry of the other the program
// calls nothing that the runtime sees. The second call has names in 48 of the 64 bytes that it gets, and the last but
// one of these words is still names[4] of the first call: nothing in the memory of the process tells it from a pointer
// that the second call stored. The other four are overwritten, and lost.
#include <alloca.h>
#include <stdlib.h>
#include <string.h>

static void keep_names(int count, int fatal) {
    char **names = alloca((size_t)count * sizeof *names);

    for (int i = 0; i < count; i++)
        names[i] = malloc(fatal ? 30 : 20);    // forgotten: 6 blocks, 180 bytes; forgotten: 1 block, 20 bytes; lost: 4 blocks, 80 bytes
    if (fatal)
        exit(1);
}

int main(void) {
    keep_names(5, 0);
    keep_names(6, 1);
    return 0;
}
