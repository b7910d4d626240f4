// A function throws between its own new and delete: the throw is the place, in a function without any other cleanup.
// valgrind-variable -O2: differs: gcc has copy only in a register, which the throw itself needs before it jumps
// stdout: 2 sums, 1 error
#include <cstdio>
#include <stdexcept>

static int checked_sum(const int *values, int count) {
    int *copy = new int[4];               // lost: 1 block, 16 bytes
    int sum = 0;
    for (int i = 0; i < count; i++) {
        copy[i] = values[i];              // last used
        if (values[i] < 0)
            throw std::range_error("negative");    // leaks: unwound copy
        sum += copy[i];
    }
    delete[] copy;                        // frees: 2 blocks
    return sum;
}

int main() {
    const int rows[3][4] = {{1, 2, 3, 4}, {5, -6, 7, 8}, {9, 10, 11, 12}};
    int sums = 0, errors = 0;
    for (const auto &row : rows) {
        try {
            if (checked_sum(row, 4) > 0)
                sums++;
        } catch (const std::range_error &) {
            errors++;
        }
    }
    std::printf("%d sums, %d error\n", sums, errors);
    return 0;
}
