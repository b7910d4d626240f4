// An index that is mapped: numbers in the network's order, sorted, and one that is looked for.
#include <arpa/inet.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static int by_key(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

int main(int argc, char **argv)
{
    struct stat state;
    if (argc != 2 || stat(argv[1], &state) || state.st_size < 8)
        return 2;
    int file = open(argv[1], O_RDONLY);
    if (file < 0)
        return 2;
    const char *map = mmap(NULL, state.st_size, PROT_READ, MAP_PRIVATE, file, 0);
    close(file);
    if (map == MAP_FAILED)
        return 2;
    uint16_t version, count;
    memcpy(&version, map + 4, 2);
    memcpy(&count, map + 6, 2);
    version = ntohs(version);
    count = ntohs(count);
    if (memcmp(map, "IDX!", 4) || version != 0x0103 || count == 0 || 8 + 4 * count > state.st_size) {
        munmap((void *)map, state.st_size);
        return 3;
    }
    uint32_t *keys = malloc(count * sizeof *keys); // @twice MA; @found MA
    if (!keys) {
        munmap((void *)map, state.st_size);
        return 3;
    }
    for (unsigned i = 0; i < count; i++) {
        memcpy(&keys[i], map + 8 + 4 * i, 4);
        keys[i] = ntohl(keys[i]);
    }
    munmap((void *)map, state.st_size);
    qsort(keys, count, sizeof *keys, by_key);
    for (unsigned i = 1; i < count; i++)
        if (keys[i] == keys[i - 1] && keys[i] > 100000)
            return 5; // @twice LK = must-leak lost
    uint32_t wanted = 0x12345678;
    if (count > 1 && bsearch(&wanted, keys, count, sizeof *keys, by_key))
        return 0; // @found LK = must-leak lost
    free(keys);
    return 1;
}
