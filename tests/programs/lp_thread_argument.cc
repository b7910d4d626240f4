// Each thread gets its task as a raw argument and owns it; one that gives up returns without deleting.
// gap: -O0 -O2: a return that clang sends straight to the end of a function has the line of the closing brace
// valgrind: may differ: the C++ library frees its copy of the argument after the thread's function, mostly last of all
// The library's own copy of the argument goes later, with no line of ours on the stack: the return is the place.
// flags: -pthread
// stdout: done 3, sum 60
#include <atomic>
#include <cstdio>
#include <mutex>
#include <thread>
#include <vector>

struct Task {
    int id;
    int amount;
    int result;
};

static std::mutex start;
static std::atomic<int> done{0}, sum{0};

static void work(Task *task, int limit) {
    { std::lock_guard<std::mutex> all_are_there(start); }
    task->result = 2 * task->amount;
    if (task->result > limit)             // last used
        return;                           // leaks: scope-end task
    sum += task->result;
    done++;
    delete task;                          // frees: 3 blocks
}

static std::vector<std::thread> launch(int count) {
    std::vector<std::thread> threads;
    start.lock();
    for (int id = 0; id < count; id++) {
        Task *task = new Task;            // lost: 2 blocks, 24 bytes
        task->id = id;
        task->amount = 5 * (id + 1);
        threads.emplace_back(work, task, 35);
    }
    start.unlock();
    return threads;
}

int main() {
    std::vector<std::thread> threads = launch(5);
    for (std::thread &thread : threads)
        thread.join();
    std::printf("done %d, sum %d\n", done.load(), sum.load());
    return 0;
}
