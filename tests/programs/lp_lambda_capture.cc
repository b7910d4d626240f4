// A std::function holds a raw pointer in its capture: assigning another callback, or leaving the scope, loses it.
// valgrind: differs: std::function swaps through a temporary of its own, which dies after the assignment
// stdout: a.pdf: 100%
// stdout: fullest 3
#include <algorithm>
#include <cstdio>
#include <functional>
#include <utility>

struct Progress {
    const char *file;
    int percent;
};

class Download {
public:
    void on_data(std::function<void(int)> callback) {
        callback_ = std::move(callback);                         // leaks @progress: overwritten this->callback_
    }
    void feed(int percent) {
        if (callback_)
            callback_(percent);
    }

private:
    std::function<void(int)> callback_;
};

static void show_progress(Download &download, const char *file) {
    Progress *progress = new Progress{file, 0};                  // lost @progress: 1 block, 16 bytes
    download.on_data([progress](int percent) {
        progress->percent += percent;
        if (progress->percent == 100)
            std::printf("%s: %d%%\n", progress->file, progress->percent);    // last used @progress
    });
}

static std::function<int(int)> make_histogram() {
    int *bins = new int[4]();                                    // lost @bins: 1 block, 16 bytes
    return [bins](int value) {
        return ++bins[value % 4];                                // last used @bins
    };
}

static int fullest(int count) {
    std::function<int(int)> add = make_histogram();
    int most = 0;
    for (int i = 0; i < count; i++)
        most = std::max(most, add(i));
    return most;                                                 // leaks @bins: scope-end add
}

int main() {
    Download download;
    show_progress(download, "a.pdf");
    download.feed(40);
    download.feed(60);
    download.on_data([](int) {});
    download.feed(10);
    std::printf("fullest %d\n", fullest(9));
    return 0;
}
