// Two names with one hash: the second one takes the place of the first.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned hash(const char *s)
{
    unsigned h = 2166136261u;
    while (*s) {
        h ^= (unsigned char)*s++;
        h *= 16777619u;
    }
    return h;
}

static char *slots[64];

static void put(const char *name)
{
    char *copy = strdup(name); // @x MA
    if (!copy)
        return;
    unsigned at = hash(copy) % 64;
    if (slots[at] && strcmp(slots[at], copy) == 0) {
        free(copy);
        return;
    }
    slots[at] = copy; // @x LK = must-leak lost
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        put(argv[i]);
    for (int i = 0; i < 64; i++)
        free(slots[i]);
    return 0;
}
