/* Allocation-bound, one thread: a live set of small blocks of mixed sizes,
 * in which a random one is freed and replaced at each step. Now and then a
 * block is larger, and now and then one is grown instead of replaced.
 *
 * usage: alloc MILLIONS-OF-STEPS */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { LIVE = 1 << 16 };

struct block {
    size_t size;
    unsigned char bytes[];
};

static uint64_t seed = 88172645463325252u;

static uint64_t next_random(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}

/* Mostly 16 to 143 bytes; one block in 256 is up to 8 KiB. */
static size_t random_size(uint64_t random)
{
    return 16 + ((random & 255) == 0 ? (random >> 8) % 8192 : (random >> 8) % 128);
}

static struct block *block_of(size_t size)
{
    struct block *block = malloc(sizeof *block + size);
    if (block == NULL)
        abort();
    block->size = size;
    block->bytes[0] = (unsigned char)size;
    return block;
}

static struct block *grown(struct block *block)
{
    block = realloc(block, sizeof *block + block->size * 2);
    if (block == NULL)
        abort();
    block->size *= 2;
    return block;
}

int main(int argc, char **argv)
{
    static struct block *live[LIVE];
    uint64_t steps = (argc > 1 ? strtoull(argv[1], NULL, 10) : 1) * 1000000;
    uint64_t sum = 0;

    for (size_t i = 0; i < LIVE; i++)
        live[i] = block_of(random_size(next_random()));
    for (uint64_t step = 0; step < steps; step++) {
        uint64_t random = next_random();
        struct block **slot = &live[random % LIVE];
        sum += (*slot)->size + (*slot)->bytes[0];
        if ((random >> 16) % 32 == 0 && (*slot)->size < 4096) {
            *slot = grown(*slot);
        } else {
            free(*slot);
            *slot = block_of(random_size(random >> 24));
        }
    }
    for (size_t i = 0; i < LIVE; i++)
        free(live[i]);
    printf("%llu\n", (unsigned long long)sum);
    return 0;
}
