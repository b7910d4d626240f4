// A connection is last touched by the accounting, long before its slot is given to another one.
// valgrind-variable -O2: differs: gcc has the address of connections in a register from before the loop, and no variable is there
// stdout: billed 900 bytes
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct connection {
    char peer[16];
    long bytes;
};

enum { LIMIT = 2 };

static struct connection *connections[LIMIT];

static int oldest(void) {
    static int turn;
    return turn++ % LIMIT;
}

static struct connection *open_connection(const char *peer) {
    int slot = oldest();

    connections[slot] = calloc(1, sizeof **connections);    // lost: 1 block, 24 bytes; leaks: overwritten connections[slot]
    snprintf(connections[slot]->peer, sizeof connections[slot]->peer, "%s", peer);
    return connections[slot];
}

static long bill(void) {
    long sum = 0;

    for (int i = 0; i < LIMIT; i++)
        if (connections[i] != NULL)
            sum += connections[i]->bytes;    // last used
    return sum;
}

static void close_all(void) {
    for (int i = 0; i < LIMIT; i++) {
        free(connections[i]);    // frees: 2 blocks
        connections[i] = NULL;
    }
}

int main(void) {
    static const char *const peers[] = {"10.0.0.1", "10.0.0.2", "10.0.0.3"};
    long billed = 0;

    for (int i = 0; i < 3; i++) {
        open_connection(peers[i])->bytes += 100 * (i + 1);
        billed += bill();
    }
    printf("billed %ld bytes\n", billed);
    close_all();
    return 0;
}
