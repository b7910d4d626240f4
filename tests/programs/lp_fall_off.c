// Control falls off the end of a void function whose local holds a sorted copy.
// valgrind -O2: differs: gcc inlines print_median: sorted is in a register until main returns
// stdout: median of 5: 7
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int ascending(const void *left, const void *right) {
    const int *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

static void print_median(const int *values, size_t count) {
    int *sorted = malloc(count * sizeof *sorted);    // lost: 1 block, 20 bytes

    memcpy(sorted, values, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, ascending);
    printf("median of %zu: %d\n", count, sorted[count / 2]);    // last used
}    // leaks: scope-end sorted

int main(void) {
    static const int values[] = {9, 2, 7, 40, 3};

    print_median(values, 5);
    return 0;
}
