// Endless recursion in main ends with SIGSEGV: no stack is left to report on, so the runtime brings its own.
// signal: 11
// lsan: differs: does not check a program that a signal ends
#include <stdlib.h>
#include <string.h>

static void open_document(void) {
    char *title = strdup("untitled");    // lost: 1 block, 9 bytes
    title[0] = 'U';
    title = NULL;
}

static long count_children(long depth) {
    volatile char path[2000];
    path[depth % 2000] = (char)depth;
    return count_children(depth + 1) + path[11];
}

int main(void) {
    open_document();
    return (int)count_children(0);
}
