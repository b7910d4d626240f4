// Sizes that no machine can serve: NULL with ENOMEM, the old block untouched, and the program goes on.
// Not under Valgrind, whose calloc does not set errno where the product overflows.
// engines: track preload
// stdout: 10 refusals
#define _GNU_SOURCE
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int refusals;

static void expect_refusal(void *block) {
    if (block == NULL && errno == ENOMEM)
        refusals++;
    else
        free(block);
    errno = 0;
}

int main(void) {
    volatile size_t most = SIZE_MAX, half = PTRDIFF_MAX, many = (size_t)1 << 33, odd = 24;
    void *column = NULL;
    char *kept = strdup("kept");

    expect_refusal(malloc(most));
    expect_refusal(malloc(most - 64));
    expect_refusal(malloc(half));
    expect_refusal(calloc(many, many));
    expect_refusal(calloc(most, 2));
    expect_refusal(reallocarray(NULL, many, many));
    expect_refusal(realloc(kept, half));
    expect_refusal(memalign(64, most - 128));
    if (posix_memalign(&column, 64, most - 128) == ENOMEM)
        refusals++;
    if (posix_memalign(&column, odd, 64) == EINVAL)
        refusals++;
    if (strcmp(kept, "kept") != 0)
        return 1;
    free(kept);
    printf("%d refusals\n", refusals);
    return 0;
}
