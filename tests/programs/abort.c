// abort() from a failed check: frames that are alive hold their blocks, what was lost before is reported.
// signal: 6
// lsan: differs: does not check a program that a signal ends
#include <stdlib.h>
#include <string.h>

static char *volatile previous;

static void rename_entry(const char *name) {
    previous = strdup(name);                 // lost: 1 block, 6 bytes; forgotten: 1 block, 5 bytes
}

static void check_index(int index, int limit) {
    char *volatile message = malloc(96);     // forgotten: 1 block, 96 bytes
    message[0] = (char)index;
    if (index >= limit)
        abort();
    free(message);
}

int main(void) {
    rename_entry("alpha");
    rename_entry("beta");
    check_index(3, 4);
    check_index(4, 4);
    return 0;
}
