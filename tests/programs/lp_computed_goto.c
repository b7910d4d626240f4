// An interpreter goes from one instruction to the next by computed goto: the compiler marks no ends of its locals' lives,
// but a local of an instruction's own block is gone with it.
// valgrind -O2: differs: registers hold the local until the next instruction's comes
// stdout: 3 strings, 11 bytes
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAKE, COUNT, DROP, STOP };

static int execute(const unsigned char *code, size_t *bytes) {
    static const void *const table[] = {&&make, &&count, &&drop, &&stop};
    char *held = NULL;
    int made = 0;

#define NEXT goto *table[*code++]
    NEXT;
make: {
        char *text = malloc(8);           // lost: 2 blocks, 16 bytes
        snprintf(text, 8, "str%d", made++);
        free(held);                       // frees: 1 block
        held = text;
    }
    NEXT;
count: {
        const char *end = held + strlen(held);
        *bytes += (size_t)(end - held);
    }
    NEXT;
drop:
    held = NULL;                          // leaks: overwritten held
    NEXT;
stop:
    return made;
}

int main(void) {
    static const unsigned char code[] = {MAKE, MAKE, COUNT, DROP, MAKE, COUNT, DROP, COUNT + 2};
    size_t bytes = 3;
    int made = execute(code, &bytes);
    printf("%d strings, %zu bytes\n", made, bytes);
    return 0;
}
