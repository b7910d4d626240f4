// Compiled without debug info: totals are right, places are module and offset, and the report says what would help.
// flags: -g0
// engines: preload
// places: unknown
#include <stdlib.h>
#include <string.h>

static void lose_string(const char *text) {
    char *copy = strdup(text);    // lost: 2 blocks, 12 bytes
    copy[0] = 'X';
    copy = NULL;
}

int main(void) {
    lose_string("first");
    lose_string("other");
    return 0;
}
