// std::any holds a raw pointer: another value replaces it, reset() ends it, so does the end of its scope.
// valgrind: differs: std::any leaves the bytes of what it resets until they are written over
// stdout: 3 sides
#include <any>
#include <cstdio>

struct Shape {
    int sides;
};

static Shape *make(int sides) {
    return new Shape{sides};                                      // lost @replaced: 1 block, 4 bytes; lost @reset: 1 block, 4 bytes; lost @ended: 1 block, 4 bytes; forgotten @kept: 1 block, 4 bytes
}

// Ends with the program.
static std::any kept;

static int sides_of(int sides) {
    std::any value = make(sides);
    int found = std::any_cast<Shape *>(value)->sides;             // last used @replaced
    value = 5;                                                    // leaks @replaced: overwritten value
    value = make(4);                                              // last used @reset
    value.reset();                                                // leaks @reset: holder-freed value
    value = make(6);                                              // last used @ended
    return found;                                                 // leaks @ended: scope-end value
}

int main() {
    std::printf("%d sides\n", sides_of(3));
    kept = make(8);
    return 0;
}
