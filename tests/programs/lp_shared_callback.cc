// A shared_ptr is put on the heap to travel through a C callback; registering again overwrites it, and its session stays counted.
// stdout: 3 calls
#include <cstdio>
#include <memory>

extern "C" {
typedef void (*callback)(void *user);

struct bus {
    callback function;
    void *user;
};

static void bus_listen(bus *target, callback function, void *user) {
    target->function = function;
    target->user = user;              // leaks @handle: overwritten target->user; leaks @session: overwritten target->user
}

static void bus_fire(const bus *target) {
    target->function(target->user);
}
}

struct Session {
    int calls = 0;
    long padding[3] = {};
};

static void on_event(void *user) {
    auto &session = *static_cast<std::shared_ptr<Session> *>(user);
    session->calls++;
}

static std::shared_ptr<Session> attach(bus *target) {
    auto session = std::make_shared<Session>();                                // indirect @session: 1 block, 48 bytes
    bus_listen(target, on_event, new std::shared_ptr<Session>(session));       // lost @handle: 1 block, 16 bytes
    return session;
}

static int observe(bus *target, int times) {
    std::shared_ptr<Session> session = attach(target);
    for (int i = 0; i < times; i++)
        bus_fire(target);
    return session->calls;
}

int main() {
    bus events = {};
    int calls = observe(&events, 1);
    calls += observe(&events, 2);
    std::printf("%d calls\n", calls);
    delete static_cast<std::shared_ptr<Session> *>(events.user);
    return 0;
}
