// A thread's body is a lambda that fills a thread-local buffer; nobody frees it before the lambda ends.
// valgrind: differs: the thread's function is called by the C++ library's, and its variables end unseen
// gap: -O2: the optimiser leaves no use on the line
// flags: -pthread
// stdout: 6 15
#include <cstdio>
#include <thread>

static thread_local int *buffer;

static int sum_up(int from, int to) {
    if (buffer == nullptr)
        buffer = new int[4]();      // lost: 2 blocks, 32 bytes
    buffer[0] = 0;
    for (int i = from; i <= to; i++)
        buffer[0] += i;
    return buffer[0];               // last used
}

int main() {
    int results[2] = {};
    for (int i = 0; i < 2; i++) {
        std::thread worker([&results, i] {
            results[i] = sum_up(1 + 3 * i, 3 + 3 * i);
        });                         // leaks: thread-end buffer
        worker.join();
    }
    std::printf("%d %d\n", results[0], results[1]);
    return 0;
}
