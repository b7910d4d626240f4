// A std::function that owns by a raw pointer is cleared, taken out of a vector, and ends with it.
// valgrind: differs: std::function leaves the bytes of what it ends until they are written over or freed
// stdout: 1 3
#include <cstdio>
#include <functional>
#include <utility>
#include <vector>

struct Counter {
    int n = 0;
    long history[6] = {};
};

static std::function<int()> counting() {
    auto *counter = new Counter;                                  // lost @cleared: 1 block, 56 bytes; lost @popped: 1 block, 56 bytes; lost @ended: 2 blocks, 112 bytes
    return [counter] { return ++counter->n; };                    // last used @cleared; last used @popped; last used @ended
}

class Button {
public:
    void on(std::function<int()> handler) { handlers_.push_back(std::move(handler)); }
    int click() {
        int sum = 0;
        for (auto &handler : handlers_)
            sum += handler();
        return sum;
    }
    void undo() { handlers_.pop_back(); }                         // leaks @popped: holder-freed this->handlers_

private:
    std::vector<std::function<int()>> handlers_;
};

static int press() {
    Button button;
    button.on(counting());
    button.on(counting());
    button.on(counting());
    int sum = button.click();
    button.undo();
    return sum;                                                   // leaks @ended: scope-end button
}

int main() {
    std::function<int()> next = counting();
    int first = next();
    next = nullptr;                                               // leaks @cleared: overwritten next
    std::printf("%d %d\n", first, press());
    return 0;
}
