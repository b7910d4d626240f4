// An object is copied for a call, to where frames before left words of the stack: they are no pointers that the copy replaces.
// valgrind -O2: differs: gcc knows that sum_of leaves its register alone, and keeps block there: report is the first to overwrite it
// stdout: 48
#include <cstdio>
#include <cstring>

struct Words {
    const char *first, *second, *third, *fourth;
    Words(const char *a, const char *b, const char *c, const char *d) : first(a), second(b), third(c), fourth(d) {}
    __attribute__((noinline)) Words(const Words &other)
        : first(other.first), second(other.second), third(other.third), fourth(other.fourth) {}
};

__attribute__((noinline)) static size_t letters(Words words) {
    return std::strlen(words.first) + std::strlen(words.second) + std::strlen(words.third) +
           std::strlen(words.fourth);
}

// Each of its frames has the block in a register that the next one saves.
__attribute__((noinline)) static int sum_of(const char *block, int depth) {
    return depth == 0 ? block[0] : 3 * sum_of(block, depth - 1) + block[depth % 8];    // last used
}

__attribute__((noinline)) static void drop() {
    char *block = new char[8]();    // lost: 1 block, 8 bytes
    if (sum_of(block, 40) != 0)
        delete[] block;
}    // leaks: scope-end block

static const Words words("one", "two", "six", "ten");

__attribute__((noinline)) static void report() {
    std::printf("%zu\n", letters(words) + letters(words) + letters(words) + letters(words));
}

int main() {
    drop();
    report();
    return 0;
}
