// A word whose hash has one remainder of thousands: no solver turns the product round.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint32_t hash(const char *s)
{
    uint32_t h = 2166136261u;
    for (; *s; s++)
        h = (h ^ (uint8_t)*s) * 16777619u;
    return h;
}

int main(int argc, char **argv)
{
    if (argc != 2 || strlen(argv[1]) < 5)
        return 2;
    char *copy = malloc(20); // @copy MA
    if (!copy)
        return 2;
    snprintf(copy, 20, "%s", argv[1]);
    if (hash(argv[1]) % 9973 == 1234)
        return 1; // @copy LK = must-leak lost
    puts(copy);
    free(copy);
    return 0;
}
