// Globals of every kind hold the only pointer: data, bss, static local, array element, union.
// flags: -no-pie
#include <stdlib.h>
#include <string.h>

static char initial[8] = "initial";
static char *in_data = initial;
static char *in_bss;
static char *in_array[300];
static union {
    long number;
    char *text;
} in_union;

static const char *cached_name(void) {
    static char *name;

    if (name == NULL)
        name = strdup("static local");    // forgotten: 1 block, 13 bytes
    return name;
}

int main(void) {
    in_data = malloc(11);                 // forgotten: 1 block, 11 bytes
    in_bss = malloc(12);                  // forgotten: 1 block, 12 bytes
    in_array[299] = malloc(13);           // forgotten: 1 block, 13 bytes
    in_union.text = malloc(14);           // forgotten: 1 block, 14 bytes
    return strlen(cached_name()) == 12 && in_data != initial ? 0 : 1;
}
