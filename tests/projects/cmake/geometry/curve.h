#ifndef CURVE_H
#define CURVE_H

#ifdef __cplusplus
extern "C" {
#endif

struct point {
    double x, y;
};

struct curve {
    struct point *points;
    int count;
};

struct bounds {
    struct point low, high;
};

struct curve *curve_sample(double (*f)(double), double from, double to, int count);
void curve_free(struct curve *curve);
struct bounds *curve_bounds(const struct curve *curve);

#ifdef __cplusplus
}
#endif
#endif
