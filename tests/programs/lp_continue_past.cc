// A list of tasks is run: those that cost much are passed over by `continue`, past the statement that frees.
// stdout: 25
#include <cstdio>
#include <list>

struct Task {
    int cost;
    int done;
};

class Queue {
    std::list<Task *> q;
public:
    void add(int cost) { q.push_back(new Task{cost, 0}); }    // lost: 2 blocks, 16 bytes
    int run() {
        int spent = 0;
        while (!q.empty()) {
            Task *t = q.front();
            t->done = 1;
            spent += t->cost;
            q.pop_front();
            if (t->cost > 5)    // last used
                continue;    // leaks: scope-end t
            delete t;    // frees: 2 blocks
        }
        return spent;
    }
};

int main() {
    Queue q;
    for (int c : {3, 8, 5, 9})
        q.add(c);
    std::printf("%d\n", q.run());
}
