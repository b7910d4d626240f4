// Objects of several classes end in one place, with what is in them: each has its own name, and a handler goes on with the loop.
// stdout: 1: empty
// stdout: 0
// valgrind: differs: gcc's code for a handler is in no scope; the block that a deque frees had the last pointer
#include <cstdio>
#include <deque>
#include <stdexcept>
#include <string>

struct Task {
    int id;
    std::string text;
};

struct Result {
    long value;
};

template <class T> class Channel {
public:
    void put(T *item) { items_.push_back(item); }
    T *get() {
        if (items_.empty())
            return nullptr;
        T *item = items_.front();
        items_.pop_front();
        return item;
    }

private:
    std::deque<T *> items_;
};

static Result *evaluate(const Task *task) {
    if (task->text.empty())
        throw std::invalid_argument("empty");
    return new Result{std::stol(task->text)};    // lost @result: 1 block, 8 bytes
}

static void work(Channel<Task> &in, Channel<Result> &out) {
    while (Task *task = in.get()) {
        try {
            out.put(evaluate(task));
            delete task;
        } catch (const std::invalid_argument &error) {
            // clang-format off
            std::printf("%d: %s\n", task->id, error.what()); continue;    // leaks @task: scope-end task
            // clang-format on
        }
    }
}

static long run() {
    Channel<Task> tasks;
    Channel<Result> results;
    Channel<const char> words;
    for (int i = 0; i < 3; i++)
        tasks.put(new Task{i, i == 1 ? "" : std::to_string(10 * i)});    // lost @task: 1 block, 40 bytes
    work(tasks, results);
    Result *first = results.get();
    long value = first->value;
    delete first;
    return value;    // leaks @result: scope-end results
}

int main() {
    std::printf("%ld\n", run());
    return 0;
}
