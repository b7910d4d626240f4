// With -O2 the allocating function is inlined into its caller: both frames are still shown.
// flags: -O2
#include <stdlib.h>
#include <string.h>

struct point {
    double x, y;
};

static struct point *volatile latest;

__attribute__((always_inline)) static inline struct point *new_point(double x, double y) {
    struct point *point = malloc(sizeof *point);    // lost: 9 blocks, 144 bytes; forgotten: 1 block, 16 bytes
    point->x = x;
    point->y = y;
    return point;
}

__attribute__((noinline)) static void trace_line(int steps) {
    for (int i = 0; i < steps; i++)
        latest = new_point(i, i * 0.5);
}

int main(void) {
    trace_line(10);
    return latest->x == 9.0 ? 0 : 1;
}
