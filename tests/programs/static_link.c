// Linked with -static: the runtime takes part in the link like everything else.
// flags: -static
// engines: track
// memcheck: differs: cannot replace malloc in a static program
// lsan: differs: cannot be linked statically
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *motd;

static void greet(const char *name) {
    char *text = malloc(43);       // lost: 1 block, 43 bytes
    snprintf(text, 43, "hello %s", name);
    text = NULL;
}

int main(void) {
    greet("static");
    motd = strdup("no news");      // forgotten: 1 block, 8 bytes
    return 0;
}
