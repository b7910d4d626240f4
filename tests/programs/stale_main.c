// The last pointer is a local of main, and main returns: its frame is dead, so the block is lost.
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv) {
    char *program = strdup(argc > 5 ? argv[5] : "calc");    // lost: 1 block, 5 bytes
    long *stack = calloc(50, sizeof *stack);                // lost: 1 block, 400 bytes

    stack[0] = program[0];
    return stack[0] == 'c' ? 0 : 1;
}
