// Closures are handed to on_exit, which alone holds them until the program ends; each one frees itself then.
// variants: -O0 -O2
// stdout: working
// stdout: removed index.tmp
// stdout: removed data.tmp
#define _DEFAULT_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct cleanup {
    char *file;
    int attempts;
};

static void clean_up(int status, void *argument) {
    struct cleanup *cleanup = argument;

    if (status == 0 && cleanup->attempts > 0)
        printf("removed %s\n", cleanup->file);
    free(cleanup->file);
    free(cleanup);
}

static int remove_at_exit(const char *file) {
    struct cleanup *cleanup = malloc(sizeof *cleanup);

    cleanup->file = strdup(file);
    cleanup->attempts = 1;
    return on_exit(clean_up, cleanup);
}

int main(void) {
    if (remove_at_exit("data.tmp") != 0 || remove_at_exit("index.tmp") != 0)
        return 1;
    puts("working");
    return 0;
}
