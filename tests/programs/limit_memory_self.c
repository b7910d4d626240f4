// The program limits its own address space at start, then allocates within it and past it, and goes on.
// stdout: refused once, went on
// lsan: differs: the limit also binds its runtime
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { MIB = 1 << 20 };

static void lose_chunk(void) {
    char *chunk = malloc(1234);    // lost: 1 block, 1234 bytes
    chunk[0] = 1;
    chunk = NULL;
}

int main(void) {
    struct rlimit memory = {512L * MIB, 512L * MIB};
    void *chunks[32] = {0};
    int refused = 0;

    setrlimit(RLIMIT_AS, &memory);
    for (int i = 0; i < 32; i++) {
        chunks[i] = malloc(2 * MIB);
        if (chunks[i] == NULL)
            return 1;
        memset(chunks[i], i, 2 * MIB);
    }
    void *volatile huge = malloc(1000000L * MIB);
    if (huge == NULL && errno == ENOMEM)
        refused++;
    lose_chunk();
    for (int i = 0; i < 32; i++)
        free(chunks[i]);
    memset(chunks, 0, sizeof chunks);
    printf("refused %s, went on\n", refused == 1 ? "once" : "never");
    return 0;
}
