// An arm of a switch has a block of its own, which a break leaves before the free at its end.
// valgrind -O2: differs: gcc has copy in a register until classify returns: its last use is told
// stdout: 1 2 3
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int classify(const char *word) {
    switch (*word) {
    case 'a': {
        char *copy = strdup(word);    // lost: 1 block, 3 bytes
        copy[0] = 'A';
        if (copy[1] == 'x')           // last used
            break;                    // leaks: scope-end copy
        free(copy);                   // frees: 1 block
        return 1;
    }
    case 'b':
        return 2;
    }
    return 3;
}

int main(void) {
    int first = classify("ab"), second = classify("bc"), third = classify("ax");
    printf("%d %d %d\n", first, second, third);
    return 0;
}
