#include "canvas.h"
#include "curve.h"

#include <algorithm>
#include <cstdio>

static double parabola(double x) { return x * x; }
static double level(double) { return 1.0; }

int main() {
    auto canvas = make_canvas(20, 5);
    for (auto *f : {parabola, level}) {
        curve *curve = curve_sample(f, -1.0, 1.0, 11);
        canvas->draw(*curve);
        curve_free(curve);
    }
    std::string last = canvas->row(4);
    std::printf("%d marks\n", static_cast<int>(std::count(last.begin(), last.end(), '*')));
    return 0;
}
