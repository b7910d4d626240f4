// longjmp skips frames that hold blocks, but each block was entered in a list before, and the list is freed.
// variants: -O0 -O2
// stdout: ok 6
// stdout: error: depth
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

struct owned {
    struct owned *next;
    double value[4];
};

static struct owned *all;
static jmp_buf recovery;
static const char *error;

static double *allocate(void) {
    struct owned *owned = calloc(1, sizeof *owned);
    owned->next = all;
    all = owned;
    return owned->value;
}

static void release_all(void) {
    while (all != NULL) {
        struct owned *next = all->next;
        free(all);
        all = next;
    }
}

static double nested(int depth, int limit) {
    double *frame = allocate();

    if (depth > limit) {
        error = "depth";
        longjmp(recovery, 1);
    }
    frame[0] = depth;
    return depth == 0 ? 0 : frame[0] + nested(depth - 1, limit);
}

static void evaluate(int depth) {
    if (setjmp(recovery) == 0)
        printf("ok %g\n", nested(depth, 3));
    else
        printf("error: %s\n", error);
    release_all();
}

int main(void) {
    evaluate(3);
    evaluate(5);
    return 0;
}
