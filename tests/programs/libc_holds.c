// libc alone holds the pointers: a stream's buffer, an open stream, the environment, an exit handler, a hash table, a locale.
// memcheck-flags: --run-libc-freeres=no
#define _GNU_SOURCE
#include <locale.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void give_to_libc(void) {
    char *buffer = malloc(4096);                  // forgotten: 1 block, 4096 bytes
    setvbuf(stdout, buffer, _IOFBF, 4096);
    buffer = NULL;

    char *variable = strdup("PAGER=less");        // forgotten: 1 block, 11 bytes
    putenv(variable);
    variable = NULL;

    FILE *unclosed = fopen("/dev/null", "w");     // forgotten: 1 block, 472 bytes
    fputc('x', unclosed);
    unclosed = NULL;

    uselocale(newlocale(LC_ALL_MASK, "C.UTF-8", NULL));
    hcreate(30);
    ENTRY entry = {strdup("colour"), strdup("blue")};    // forgotten: 2 blocks, 12 bytes
    hsearch(entry, ENTER);
    entry.key = entry.data = NULL;
}

static void on_end(int status, void *argument) {
    if (status == 0)
        ((char *)argument)[0] = 'E';
}

static void register_end(void) {
    char *argument = strdup("end");               // forgotten: 1 block, 4 bytes
    on_exit(on_end, argument);
    argument = NULL;
}

int main(void) {
    give_to_libc();
    register_end();
    return 0;
}
