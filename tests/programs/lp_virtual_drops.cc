// Handlers take over the event they are given; the override that only counts forgets its argument.
// valgrind -O2: differs: handle has an event that it does not use: main's copy in a register is the last, until the next event's comes
// stdout: handled 2, muted 3
#include <cstdio>
#include <memory>

struct Event {
    int kind;
    int time;
    char detail[16];
};

static Event *make_event(int kind, int time) {
    Event *event = new Event;                         // lost: 3 blocks, 72 bytes
    event->kind = kind;
    event->time = time;
    std::snprintf(event->detail, sizeof event->detail, "kind %d", kind);
    return event;
}

class Handler {
public:
    virtual ~Handler() = default;
    virtual void handle(Event *event) {
        seen_ += event->kind > 0;
        delete event;                                 // frees: 2 blocks
    }
    int seen() const { return seen_; }

protected:
    int seen_ = 0;
};

class Muted : public Handler {
public:
    void handle([[maybe_unused]] Event *event) override {
        seen_++;
    }                                                 // leaks: scope-end event
};

static void dispatch(Handler &handler, int kind, int time) {
    handler.handle(make_event(kind, time));           // last used
}

int main() {
    auto loud = std::make_unique<Handler>();
    auto muted = std::make_unique<Muted>();
    for (int time = 0; time < 5; time++) {
        Handler &target = time % 2 ? *loud : *muted;
        dispatch(target, 1 + time % 3, time);
    }
    std::printf("handled %d, muted %d\n", loud->seen(), muted->seen());
    return 0;
}
