// std::thread, future and condition variable, a work queue that empties: nothing is left.
// flags: -pthread
#include <condition_variable>
#include <future>
#include <mutex>
#include <numeric>
#include <queue>
#include <thread>
#include <vector>

class Queue {
  public:
    void push(std::vector<int> work) {
        std::lock_guard guard(lock);
        items.push(std::move(work));
        ready.notify_one();
    }
    std::vector<int> pop() {
        std::unique_lock guard(lock);
        ready.wait(guard, [this] { return !items.empty(); });
        auto work = std::move(items.front());
        items.pop();
        return work;
    }

  private:
    std::mutex lock;
    std::condition_variable ready;
    std::queue<std::vector<int>> items;
};

static long drain(Queue &queue) {
    long total = 0;
    for (;;) {
        auto work = queue.pop();
        if (work.empty())
            return total;
        total = std::accumulate(work.begin(), work.end(), total);
    }
}

int main() {
    Queue queue;
    std::vector<std::future<long>> totals;
    for (int i = 0; i < 4; i++)
        totals.push_back(std::async(std::launch::async, drain, std::ref(queue)));
    for (int i = 0; i < 2000; i++)
        queue.push(std::vector<int>(1 + i % 40, 1));
    for (int i = 0; i < 4; i++)
        queue.push({});
    long sum = 0;
    for (auto &total : totals)
        sum += total.get();
    return sum == 41000 ? 0 : 1;
}
