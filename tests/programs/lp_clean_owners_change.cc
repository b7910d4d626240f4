// Pointers change owners in every usual way before the container that held them is cleared: clear() and pop_back() lose nothing here.
// flags: -pthread
// variants: -O0 -O2
// stdout: 6 tasks, 2 archived
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

struct Task {
    explicit Task(int id) : id(id) {}
    int id;
    double cost[3] = {};
};

static std::vector<Task *> make_tasks(int count) {
    std::vector<Task *> tasks;
    for (int i = 0; i < count; i++)
        tasks.push_back(new Task(i));
    return tasks;
}

int main() {
    std::vector<Task *> tasks = make_tasks(6);
    int seen = 0;

    std::unique_ptr<Task> last(tasks.back());
    tasks.pop_back();

    Task *fourth = std::exchange(tasks[4], nullptr);
    std::thread worker([fourth, &seen] {
        seen += fourth->id == 4;
        delete fourth;
    });
    worker.join();
    tasks.pop_back();

    std::map<int, std::unique_ptr<Task>> by_id;
    for (Task *task : {tasks[0], tasks[1]})
        by_id.emplace(task->id, task);
    std::map<int, std::unique_ptr<Task>> archive;
    archive.insert(by_id.extract(1));
    archive.insert(by_id.extract(0));

    Task *a = tasks[2], *b = tasks[3];
    tasks.clear();
    tasks.shrink_to_fit();
    std::swap(a, b);
    long padding[4] = {1, 2, 3, 4};
    std::function<int()> finish = [a, b, padding] {    // too big to be stored inside the function
        int ids = a->id + b->id + static_cast<int>(padding[0]);
        delete a;
        delete b;
        return ids;
    };
    a = b = nullptr;
    std::function<int()> moved = std::move(finish);
    seen += moved() - 1;

    std::unique_ptr<Task> other;
    other.reset(last.release());
    last = std::move(other);
    std::printf("%d tasks, %zu archived\n", seen, archive.size());
    return last->id == 5 ? 0 : 1;
}
