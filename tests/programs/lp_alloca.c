// The array of copies is taken from the stack by alloca and goes with the function; the copies do not.
// lsan: differs: old words on the dead stack hide blocks
// stdout: Ada Grace Alan
#include <alloca.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void capitalise(char *name) {
    name[0] = (char)toupper((unsigned char)name[0]);
}

static void print_names(const char *const *names, int count) {
    char **copies = alloca((size_t)count * sizeof *copies);

    for (int i = 0; i < count; i++) {
        copies[i] = strdup(names[i]);    // lost: 3 blocks, 15 bytes
        capitalise(copies[i]);
    }
    for (int i = 0; i < count; i++)
        printf("%s%c", copies[i], i + 1 < count ? ' ' : '\n');    // last used
}    // leaks: scope-end ?

int main(void) {
    static const char *const names[] = {"ada", "grace", "alan"};

    print_names(names, 3);
    return 0;
}
