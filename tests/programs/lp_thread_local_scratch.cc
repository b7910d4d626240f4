// Each worker keeps a scratch area in a thread_local pointer; the threads end and nobody deletes it.
// gap: -O2: the optimiser leaves no use on the line
// valgrind: differs: the thread's function is called by the C++ library's, whose return is the last that is seen
// flags: -pthread
// stdout: 10 20 30
#include <cstdio>
#include <thread>
#include <vector>

struct Scratch {
    int used = 0;
    int values[15] = {};
};

static thread_local Scratch *scratch;

static Scratch &my_scratch() {
    if (scratch == nullptr)
        scratch = new Scratch;      // lost: 3 blocks, 192 bytes
    return *scratch;
}

static void push(int value) {
    Scratch &mine = my_scratch();
    mine.values[mine.used++] = value;
}

static int drain() {
    int sum = 0;
    for (Scratch &mine = my_scratch(); mine.used > 0;)    // last used
        sum += mine.values[--mine.used];
    return sum;
}

static void work(int factor, int *result) {
    for (int i = 1; i <= 4; i++)
        push(factor * i);
    *result = drain();
}                                   // leaks: thread-end scratch

int main() {
    int results[3] = {};
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; i++)
        threads.emplace_back(work, i + 1, &results[i]);
    for (std::thread &thread : threads)
        thread.join();
    std::printf("%d %d %d\n", results[0], results[1], results[2]);
    return 0;
}
