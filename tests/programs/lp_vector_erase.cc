// A cancelled timer is erased from the middle of the vector: the later ones move over the last pointer to it.
// valgrind-variable -O2: differs: gcc inlines erase down to memmove, which is given an element's address in a register that no variable has
// stdout: fired 5, sum 35
#include <cstdio>
#include <vector>

struct Timer {
    int id;
    int due;
    void *owner;
};

static std::vector<Timer *> timers;

static void start(int id, int due) {
    timers.push_back(new Timer{id, due, nullptr});    // lost: 2 blocks, 32 bytes
}

static bool cancel(int id) {
    for (std::size_t i = 0; i < timers.size(); i++) {
        if (timers[i]->id == id) {                    // last used
            timers.erase(timers.begin() + static_cast<long>(i));    // leaks: overwritten timers
            return true;
        }
    }
    return false;
}

static int fire_all() {
    int sum = 0;
    for (Timer *timer : timers) {
        sum += timer->due;
        delete timer;                                 // frees: 5 blocks
    }
    return sum;
}

int main() {
    for (int id = 0; id < 7; id++)
        start(id, 10 * (id % 3) + 1);
    for (int id = 2; id <= 4; id += 2) {
        if (!cancel(id))
            return 1;
    }
    int sum = fire_all();
    std::printf("fired %zu, sum %d\n", timers.size(), sum);
    return 0;
}
