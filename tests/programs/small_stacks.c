// Threads with 32 KiB stacks allocate from a deep call: the runtime must live within what is left of them.
// flags: -pthread
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { STACK = 32 * 1024, FIBRES = 12 };

static long parse_nested(int depth, const char *text) {
    char local[512];
    memset(local, depth, sizeof local);
    if (depth > 0)
        return parse_nested(depth - 1, text) + local[17] - depth;
    char *copy = strdup(text);               // lost: 12 blocks, 84 bytes
    long length = (long)strlen(copy);
    copy = NULL;
    void *large = malloc(300000);
    memset(large, 0, 300000);
    free(large);
    return length;
}

static void *fibre(void *unused) {
    (void)unused;
    return (void *)parse_nested(24, "(((())");
}

int main(void) {
    pthread_attr_t small;
    pthread_t fibres[FIBRES];
    long total = 0;

    pthread_attr_init(&small);
    if (pthread_attr_setstacksize(&small, STACK) != 0)
        return 1;
    for (int i = 0; i < FIBRES; i++)
        if (pthread_create(&fibres[i], &small, fibre, NULL) != 0)
            return 2;
    for (int i = 0; i < FIBRES; i++) {
        void *length;
        pthread_join(fibres[i], &length);
        total += (long)length;
    }
    pthread_attr_destroy(&small);
    return total == 72 ? 0 : 3;
}
