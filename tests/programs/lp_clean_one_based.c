// Arrays that count from one keep a pointer to the element before the first: it lies outside the block.
// variants: -O0 -O2
// stdout: x[1]=1 x[2]=3 x[3]=6
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct vector {
    uintptr_t zeroth;
    int length;
};

static double *at(const struct vector *vector, int index) {
    return (double *)(vector->zeroth + (uintptr_t)index * sizeof(double));
}

static struct vector vector_new(int length) {
    double *first = calloc((size_t)length, sizeof *first);
    return (struct vector){(uintptr_t)first - sizeof *first, length};
}

static void vector_free(struct vector *vector) {
    free(at(vector, 1));
}

static void accumulate(struct vector *vector) {
    for (int i = 1; i <= vector->length; i++)
        *at(vector, i) = i + (i > 1 ? *at(vector, i - 1) : 0);
}

int main(void) {
    struct vector x = vector_new(3);

    accumulate(&x);
    for (int i = 1; i <= x.length; i++)
        printf("x[%d]=%g%c", i, *at(&x, i), i < x.length ? ' ' : '\n');
    vector_free(&x);
    return 0;
}
