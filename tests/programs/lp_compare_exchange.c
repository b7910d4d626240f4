// Two threads build the same table on first use; the one that comes second to the compare-exchange forgets its own.
// valgrind -O2: differs: gcc inlines shared_table and moves the other thread's table into the register of fresh: the end of look_up is seen
// flags: -pthread
// stdout: 'z' is 122 for both
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

struct table {
    short code[128];
};

static _Atomic(struct table *) shared;
static pthread_barrier_t both_built;

static struct table *build_table(void) {
    struct table *table = malloc(sizeof *table);    // lost: 1 block, 256 bytes

    for (short i = 0; i < 128; i++)
        table->code[i] = i;
    pthread_barrier_wait(&both_built);
    return table;
}

static const struct table *shared_table(void) {
    struct table *table = atomic_load(&shared);

    if (table != NULL)
        return table;
    struct table *fresh = build_table();
    if (atomic_compare_exchange_strong(&shared, &table, fresh))
        return fresh;
    return table;    // leaks: scope-end fresh
}

static void *look_up(void *result) {
    *(int *)result = shared_table()->code['z'];
    return NULL;
}

int main(void) {
    pthread_t threads[2];
    int codes[2];

    pthread_barrier_init(&both_built, NULL, 2);
    for (int i = 0; i < 2; i++)
        if (pthread_create(&threads[i], NULL, look_up, &codes[i]) != 0)
            return 1;
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    if (codes[0] == codes[1])
        printf("'z' is %d for both\n", codes[0]);
    free(atomic_load(&shared));    // frees: 1 block
    return 0;
}
