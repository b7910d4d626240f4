// A variant goes from a state with a raw pointer to one without anything in it: the bytes of the pointer stay.
// valgrind: differs: std::variant leaves the bytes of what it ends until they are written over
// stdout: open idle
#include <cstdio>
#include <variant>

struct Connection {
    char host[24];
    int port;
};
struct Idle {};
struct Connecting {
    Connection *connection;
    int tries;
};
struct Open {
    Connection *connection;
};

class Client {
public:
    ~Client() {
        if (Open *open = std::get_if<Open>(&state_))
            delete open->connection;        // frees: 1 block
    }
    void connect() {
        state_ = Connecting{new Connection{"host", 80}, 0};    // lost: 1 block, 28 bytes; last used
    }
    void step(bool ok) {
        if (Connecting *connecting = std::get_if<Connecting>(&state_)) {
            if (ok)
                state_ = Open{connecting->connection};
            else if (++connecting->tries == 2)
                state_ = Idle{};            // leaks: overwritten this->state_
        }
    }
    const char *name() const {
        static const char *const names[] = {"idle", "connecting", "open"};
        return names[state_.index()];
    }

private:
    std::variant<Idle, Connecting, Open> state_;
};

int main() {
    Client first, second;
    first.connect();
    second.connect();
    first.step(true);
    second.step(false);
    second.step(false);
    std::printf("%s %s\n", first.name(), second.name());
    return 0;
}
