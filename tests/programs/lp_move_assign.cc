// Move assignment takes the other side's samples and forgets that it already had some.
// valgrind-variable -O2: differs: gcc inlines operator=, where this is main's best
// stdout: peak 40 of 3 windows
#include <algorithm>
#include <cstdio>
#include <utility>

class Window {
public:
    explicit Window(int count) : count_(count), samples_(new int[static_cast<std::size_t>(count)]) {}    // lost: 2 blocks, 80 bytes
    Window(Window &&other) noexcept : count_(other.count_), samples_(std::exchange(other.samples_, nullptr)) {}
    Window &operator=(Window &&other) noexcept {
        count_ = other.count_;
        samples_ = other.samples_;                 // leaks: overwritten this->samples_
        other.samples_ = nullptr;
        return *this;
    }
    ~Window() { delete[] samples_; }

    void fill(int start) {
        for (int i = 0; i < count_; i++)
            samples_[i] = start + i;
    }
    int peak() const {
        int peak = samples_[0];
        for (int i = 1; i < count_; i++)
            peak = std::max(peak, samples_[i]);    // last used
        return peak;
    }

private:
    int count_;
    int *samples_;
};

static Window measure(int start) {
    Window window(10);
    window.fill(start);
    return window;
}

int main() {
    Window best = measure(5);
    for (int start : {20, 31}) {
        Window next = measure(start);
        if (next.peak() > best.peak())
            best = std::move(next);
    }
    std::printf("peak %d of 3 windows\n", best.peak());
    return 0;
}
