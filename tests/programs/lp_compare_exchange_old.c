// A route is replaced by compare-exchange; the former one stays in the local that was expected, and goes with it.
// valgrind -O2: differs: gcc has old only in the register that the exchange compares with: the exchange is the last that is seen
// stdout: version 3 by west
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

struct route {
    unsigned version;
    char gateway[12];
};

static _Atomic(struct route *) current;

static void replace(struct route *fresh) {
    struct route *old = atomic_load(&current);

    do {
        fresh->version = old == NULL ? 1 : old->version + 1;    // last used
    } while (!atomic_compare_exchange_weak(&current, &old, fresh));
}    // leaks: scope-end old

static void announce(const char *gateway) {
    struct route *route = malloc(sizeof *route);    // lost: 2 blocks, 32 bytes
    snprintf(route->gateway, sizeof route->gateway, "%s", gateway);
    replace(route);
}

int main(void) {
    static const char *const gateways[] = {"north", "east", "west"};

    for (int i = 0; i < 3; i++)
        announce(gateways[i]);
    struct route *last = atomic_exchange(&current, NULL);
    printf("version %u by %s\n", last->version, last->gateway);
    free(last);    // frees: 1 block
    return 0;
}
