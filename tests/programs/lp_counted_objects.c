// An interpreter's objects, counted by macros: on one way out of a function that failed, what was made before is not dropped.
// engines: track valgrind
// valgrind -O2: differs: gcc inlines it all, and in registers: a function stands for the variables that it has there
// options: --explain
// stdout: 7, then failed
#include <stdio.h>
#include <stdlib.h>

typedef struct object {
    long refcount;
    void (*dealloc)(struct object *);
} Object;

#define INCREF(o) ((o)->refcount++)
#define DECREF(o)                                                                                                      \
    do {                                                                                                               \
        Object *dropped = (Object *)(o);                                                                               \
        if (--dropped->refcount == 0)                                                                                  \
            dropped->dealloc(dropped);                                                                                 \
    } while (0)
#define XDECREF(o)                                                                                                     \
    do {                                                                                                               \
        if ((o) != NULL)                                                                                               \
            DECREF(o);                                                                                                 \
    } while (0)

typedef struct {
    Object base;
    long value;
} Number;

typedef struct {
    Object base;
    Object *items[2];
} Pair;

static void number_dealloc(Object *object) {
    free(object);
}

static void pair_dealloc(Object *object) {
    Pair *pair = (Pair *)object;
    XDECREF(pair->items[0]);
    XDECREF(pair->items[1]);
    free(pair);
}

static Object *number_new(long value) {
    Number *number = malloc(sizeof *number); // lost: 1 block, 24 bytes; counted: 2 references, 1 holder
    number->base.refcount = 1;
    number->base.dealloc = number_dealloc;
    number->value = value;
    return &number->base;
}

static Object *pair_new(Object *first, Object *second) {
    Pair *pair = malloc(sizeof *pair);
    pair->base.refcount = 1;
    pair->base.dealloc = pair_dealloc;
    INCREF(first);
    INCREF(second);
    pair->items[0] = first;
    pair->items[1] = second;
    return &pair->base;
}

static long pair_sum(const Pair *pair) {
    return ((Number *)pair->items[0])->value + ((Number *)pair->items[1])->value;
}

static Object *add(long a, long b) {
    Object *result = NULL;
    Object *left = number_new(a);
    Object *right = number_new(b);
    Object *pair = pair_new(left, right);
    DECREF(right);
    if (((Number *)left)->value < 0) {
        DECREF(pair);
        return NULL; // leaks: scope-end left
    }
    result = number_new(pair_sum((Pair *)pair));
    DECREF(left);
    DECREF(pair);
    return result;
}

int main(void) {
    Object *sum = add(3, 4);
    printf("%ld, then %s\n", ((Number *)sum)->value, add(-1, 1) ? "not" : "failed");
    DECREF(sum);
    return 0;
}
