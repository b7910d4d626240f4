// The environment keeps strings that the program made: putenv takes the pointer itself, setenv copies.
// variants: -O0 -O2
// memcheck-flags: --run-libc-freeres=no
// stdout: C and metric
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int export(const char *name, const char *value) {
    size_t size = strlen(name) + strlen(value) + 2;
    char *variable = malloc(size);    // forgotten: 1 block, 13 bytes

    snprintf(variable, size, "%s=%s", name, value);
    return putenv(variable);
}

static int export_copy(const char *name, const char *value) {
    char *copy = strdup(value);
    int status = setenv(name, copy, 1);

    free(copy);
    return status;
}

int main(void) {
    if (export("UNITS", "metric") != 0 || export_copy("LANGUAGE", "C") != 0)
        return 1;
    printf("%s and %s\n", getenv("LANGUAGE"), getenv("UNITS"));
    return 0;
}
