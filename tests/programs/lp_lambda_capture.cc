// A std::function holds a raw pointer in its capture: assigning another callback, or leaving the scope, loses it.
// stdout: a.pdf: 100%
// stdout: fullest 3
// stdout: ticks 3 11
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

// Numbers that go up are no reference counts.
struct Ticks {
    int count;
};

static std::function<int()> ticking;

static void restart(int first) {
    Ticks *ticks = new Ticks{first};                             // lost @ticks: 1 block, 4 bytes; forgotten @last: 1 block, 4 bytes
    ticking = [ticks] { return ++ticks->count; };                // leaks @ticks: overwritten ticking; last used @ticks
}

int main() {
    restart(1);
    ticking();
    int before = ticking();
    restart(10);
    int after = ticking();
    Download download;
    show_progress(download, "a.pdf");
    download.feed(40);
    download.feed(60);
    download.on_data([](int) {});
    download.feed(10);
    std::printf("fullest %d\n", fullest(9));
    std::printf("ticks %d %d\n", before, after);
    return 0;
}
