// An object whose destructor forgets a member ends with main's return.
// valgrind -O2: differs: gcc drops the allocation
// valgrind-totals -O2: differs: gcc drops the allocation
// stdout: 9
#include <cstdio>

struct Shape {
    virtual ~Shape() {}
    virtual double area() const = 0;
};

struct Square : Shape {
    double *cached;
    explicit Square(double side) : cached(new double(side * side)) {}    // lost: 1 block, 8 bytes
    double area() const override { return *cached; }                     // last used
};

int main() {
    Square square(3);
    std::printf("%g\n", square.area());
    return 0;                                                            // leaks: scope-end square.cached
}
