// exit() inside a comparator: only the frames of qsort_r hold the context and the array.
// exit: 2
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

struct order {
    int descending;
    int comparisons;
};

static int compare(const void *left, const void *right, void *context) {
    struct order *order = context;
    int difference = *(const int *)left - *(const int *)right;

    if (++order->comparisons == 10)
        exit(2);
    return order->descending ? -difference : difference;
}

static struct order *new_order(void) {
    struct order *order = calloc(1, sizeof *order);    // forgotten: 1 block, 8 bytes
    order->descending = 1;
    return order;
}

static int *numbers(int count) {
    int *list = malloc((size_t)count * sizeof *list);  // forgotten: 1 block, 400 bytes
    for (int i = 0; i < count; i++)
        list[i] = i * 37 % 100;
    return list;
}

int main(void) {
    qsort_r(numbers(100), 100, sizeof(int), compare, new_order());
    return 0;
}
