// qsort_r carries the only pointer to its context through libc's frames; the sort permutes owned strings in place.
// variants: -O0 -O2
// stdout: fig kiwi banana
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct order {
    int by_length;
    int comparisons;
};

static int compare(const void *left, const void *right, void *context) {
    const char *a = *(char *const *)left, *b = *(char *const *)right;
    struct order *order = context;

    order->comparisons++;
    return order->by_length ? (int)strlen(a) - (int)strlen(b) : strcmp(a, b);
}

static struct order *order_by_length(void) {
    struct order *order = calloc(1, sizeof *order);
    order->by_length = 1;
    return order;
}

static void sort(char **names, size_t count) {
    struct order *order = order_by_length();

    qsort_r(names, count, sizeof *names, compare, order);
    if (order->comparisons < 2)
        abort();
    free(order);
}

int main(void) {
    char *names[] = {strdup("banana"), strdup("fig"), strdup("kiwi")};

    sort(names, 3);
    printf("%s %s %s\n", names[0], names[1], names[2]);
    for (int i = 0; i < 3; i++)
        free(names[i]);
    return 0;
}
