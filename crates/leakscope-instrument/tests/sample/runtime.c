// A runtime for tests: each check is a throw of a coin, and accesses to the
// block that `make` gave are counted by line, as far as a check lets them be seen.
#include <stdio.h>
#include <stdlib.h>

static unsigned long state = 12345;
static enum { COIN, ALWAYS, NEVER } mode;
static unsigned long accesses, checks;
static char *watched;

__attribute__((constructor)) static void begin(void) {
    const char *asked = getenv("TWIN");
    mode = !asked ? COIN : *asked == 'a' ? ALWAYS : NEVER;
}

__attribute__((preserve_most)) long __leakscope_dispatch(int *counter) {
    checks++;
    *counter = 0;
    state = state * 6364136223846793005UL + 1442695040888963407UL;
    return mode == COIN ? state >> 63 : mode == ALWAYS;
}

__attribute__((preserve_most)) void __leakscope_access(char *pointer, long count) {
    if (watched && pointer >= watched && pointer < watched + 4096)
        accesses += count;
}

void *make(void) {
    return watched = calloc(1, 4096);
}

void seen(void) {
    printf("%lu accesses, %lu checks\n", accesses, checks);
    accesses = checks = 0;
}
