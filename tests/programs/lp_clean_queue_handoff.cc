// Orders travel through a std::queue between threads: the producer's last pointer dies while the consumer's is not yet born.
// flags: -pthread
// variants: -O0 -O2
// stdout: 2000 orders, 1999000
#include <condition_variable>
#include <cstdio>
#include <memory>
#include <mutex>
#include <queue>
#include <string>
#include <thread>
#include <vector>

struct Order {
    long number;
    std::string note;
};

class OrderQueue {
public:
    void put(Order *order) {
        std::lock_guard<std::mutex> lock(mutex_);
        orders_.push(order);
        ready_.notify_one();
    }

    // Null at the end: the caller owns what it gets.
    Order *take() {
        std::unique_lock<std::mutex> lock(mutex_);
        ready_.wait(lock, [this] { return !orders_.empty(); });
        Order *order = orders_.front();
        orders_.pop();
        return order;
    }

private:
    std::mutex mutex_;
    std::condition_variable ready_;
    std::queue<Order *> orders_;
};

static void consume(OrderQueue *queue, long *count, long *sum) {
    while (Order *order = queue->take()) {
        std::unique_ptr<Order> owner(order);
        ++*count;
        *sum += owner->number;
    }
}

int main() {
    OrderQueue queue;
    long counts[2] = {}, sums[2] = {};
    std::vector<std::thread> consumers;
    for (int i = 0; i < 2; i++)
        consumers.emplace_back(consume, &queue, &counts[i], &sums[i]);
    for (long number = 0; number < 2000; number++)
        queue.put(new Order{number, "a note that does not fit into the string itself"});
    for (int i = 0; i < 2; i++)
        queue.put(nullptr);
    for (std::thread &consumer : consumers)
        consumer.join();
    std::printf("%ld orders, %ld\n", counts[0] + counts[1], sums[0] + sums[1]);
    return 0;
}
