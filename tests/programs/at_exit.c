// The end of the program: handlers and destructors free what main left, and lose blocks of their own.
// stdout: bye
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *cache;
static char *history;

static void flush_cache(void) {
    char *scratch = malloc(72);         // lost: 1 block, 72 bytes
    memcpy(scratch, cache, 16);
    scratch = NULL;
    free(cache);
    cache = NULL;
}

static void say_goodbye(int status, void *text) {
    if (status == 0 && write(1, text, strlen(text)) < 0)
        _exit(1);
    free(text);
}

__attribute__((destructor)) static void drop_history(void) {
    free(history);
    history = malloc(33);               // forgotten: 1 block, 33 bytes
    char *summary = strdup("3 lines");  // lost: 1 block, 8 bytes
    summary[0] = '4';
    summary = NULL;
}

int main(void) {
    cache = calloc(1, 16);
    history = strdup("ls");
    atexit(flush_cache);
    on_exit(say_goodbye, strdup("bye\n"));
    return 0;
}
