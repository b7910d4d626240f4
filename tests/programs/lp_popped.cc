// What is popped off a queue and a stack of raw pointers is the caller's; what is cleared is nobody's. A deque leaves the pointers in its memory.
// valgrind: differs: a deque leaves what it drops in its memory, until that is written over or freed
// stdout: 8 13
#include <cstdio>
#include <deque>
#include <queue>
#include <stack>

struct Task {
    int id;
    char name[20];
};

static Task *make(int id) {
    return new Task{id, "task"};    // lost @skipped: 1 block, 24 bytes; lost @left: 1 block, 24 bytes; lost @cleared: 2 blocks, 48 bytes
}

static int run(std::queue<Task *> &queue) {
    int done = 0;
    while (!queue.empty()) {
        Task *task = queue.front();
        queue.pop();
        if (task->id == 2)          // last used @skipped
            continue;               // leaks @skipped: scope-end task
        done += task->id;
        delete task;
    }
    return done;
}

static int unwind(std::stack<Task *> &stack) {
    int sum = 0;
    while (!stack.empty()) {
        Task *task = stack.top();
        stack.pop();
        sum += task->id;            // last used @left
        if (sum > 10)
            return sum;             // leaks @left: scope-end task
        delete task;
    }
    return sum;
}

int main() {
    std::queue<Task *> queue;
    std::stack<Task *> stack;
    std::deque<Task *> waiting;
    for (int id = 1; id <= 4; id++)
        queue.push(make(id));
    for (int id = 5; id <= 7; id++)
        stack.push(make(id));
    int done = run(queue), sum = unwind(stack);
    while (!stack.empty()) {
        delete stack.top();
        stack.pop();
    }
    for (int id = 8; id <= 9; id++)
        waiting.push_back(make(id));    // last used @cleared
    waiting.clear();                // leaks @cleared: holder-freed waiting
    std::printf("%d %d\n", done, sum);
    return 0;
}
