// A catch block logs and throws on: what the first throw skipped is lost there, what only the second one skipped is lost at `throw;`.
// gap: -O2: debug information has no place for a variable of a frame that is left behind; the optimiser leaves no use on the line
// valgrind: differs: the end of the handler goes on with the exception, one line after it was thrown again
// stdout: step 2 failed: disk full
// stdout: rolled back
#include <cstdio>
#include <stdexcept>

struct Page {
    int number;
    char bytes[28];
};

static void write_page(const Page *page, int capacity) {
    if (page->number >= capacity)                            // last used @page
        throw std::runtime_error("disk full");               // leaks @page: unwound page
}

static void write_step(int step, int capacity) {
    Page *page = new Page{step, {}};                         // lost @page: 1 block, 32 bytes
    write_page(page, capacity);
    delete page;                                             // frees @page: 2 blocks
}

static void run_steps(const int *plan, int count, int capacity) {
    for (int i = 0; i < count; i++) {
        try {
            write_step(plan[i], capacity);                   // last used @plan
        } catch (const std::exception &error) {
            std::printf("step %d failed: %s\n", i, error.what());
            throw;                                           // leaks @plan: unwound plan
        }
    }
}

static void transaction(int count, int capacity) {
    int *plan = new int[6];                                  // lost @plan: 1 block, 24 bytes
    for (int i = 0; i < count; i++)
        plan[i] = i;
    run_steps(plan, count, capacity);
    delete[] plan;
}

int main() {
    try {
        transaction(5, 2);
    } catch (const std::runtime_error &) {
        std::printf("rolled back\n");
    }
    return 0;
}
