/* Allocates and frees at a steady rate for a given time, with a live set that
 * stays as large as it is: what else grows is the tool's.
 *
 * usage: soak SECONDS ALLOCATIONS-PER-MINUTE */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { LIVE = 1 << 14, SLICES_PER_SECOND = 50 };

static uint64_t seed = 88172645463325252u;

static uint64_t next_random(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}

/* Through one of several callers, so that there are stacks to keep. */
static char *deep(int depth, size_t size)
{
    if (depth > 0) {
        char *block = deep(depth - 1, size);
        block[0] = (char)depth;
        return block;
    }
    char *block = malloc(size);
    if (block == NULL)
        abort();
    return block;
}

int main(int argc, char **argv)
{
    static char *live[LIVE];
    long seconds = argc > 1 ? atol(argv[1]) : 10;
    long in_a_slice = (argc > 2 ? atol(argv[2]) : 8000000) / 60 / SLICES_PER_SECOND;
    unsigned long made = 0;
    struct timespec next;

    clock_gettime(CLOCK_MONOTONIC, &next);
    for (long slice = 0; slice < seconds * SLICES_PER_SECOND; slice++) {
        for (long i = 0; i < in_a_slice; i++) {
            uint64_t random = next_random();
            char **slot = &live[random % LIVE];
            free(*slot);
            *slot = deep((random >> 16) % 8, 16 + (random >> 24) % 496);
            made++;
        }
        next.tv_nsec += 1000000000 / SLICES_PER_SECOND;
        if (next.tv_nsec >= 1000000000) {
            next.tv_nsec -= 1000000000;
            next.tv_sec++;
        }
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
    }
    for (size_t i = 0; i < LIVE; i++)
        free(live[i]);
    printf("%lu\n", made);
    return 0;
}
