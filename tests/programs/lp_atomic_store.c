// A new configuration is stored atomically over the old one on reload.
// valgrind-variable -O0: differs: the slot is written through a pointer that the macro of atomic_store declares
// stdout: 1 worker
// stdout: 8 workers
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct configuration {
    int workers;
    char root[28];
};

static _Atomic(struct configuration *) active;

static void reload(const char *text) {
    struct configuration *fresh = calloc(1, sizeof *fresh);    // lost: 1 block, 32 bytes

    if (sscanf(text, "%d %27s", &fresh->workers, fresh->root) != 2) {
        free(fresh);
        return;
    }
    atomic_store_explicit(&active, fresh, memory_order_release);    // leaks: overwritten active
}

static void print_active(void) {
    const struct configuration *configuration = atomic_load_explicit(&active, memory_order_acquire);

    printf("%d worker%s\n", configuration->workers, configuration->workers == 1 ? "" : "s");    // last used
}

int main(void) {
    reload("1 /srv/www");
    print_active();
    reload("none");
    reload("8 /srv/new");
    print_active();
    free(atomic_load(&active));
    return 0;
}
