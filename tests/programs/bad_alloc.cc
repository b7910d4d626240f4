// bad_alloc and bad_array_new_length are thrown and caught, nothrow gives null; the half-built record is lost.
// Not under Valgrind, which ends a program whose operator new fails, as it cannot throw.
// engines: track preload
// stdout: 3 refusals
// memcheck: differs: ends a program whose operator new fails, as it cannot throw
// lsan: differs: ends a program whose operator new fails
#include <cstdio>
#include <new>

struct Record {
    double *column;
    long rows;
};

static int refusals;

static void build(std::size_t rows) {
    Record *record = new Record();          // lost: 1 block, 16 bytes
    record->column = new double[rows];
    record->rows = static_cast<long>(rows);
    delete[] record->column;
    delete record;
}

static void attempt(std::size_t rows) {
    try {
        build(rows);
    } catch (const std::bad_alloc &) {
        refusals++;
    }
}

int main() {
    volatile std::size_t too_many = std::size_t(1) << 58, overflow = ~std::size_t(0) / 2;

    attempt(10);
    attempt(too_many);
    try {
        delete[] new double[overflow];
    } catch (const std::bad_array_new_length &) {
        refusals++;
    }
    if (new (std::nothrow) double[too_many] == nullptr)
        refusals++;
    std::printf("%d refusals\n", refusals);
    return 0;
}
