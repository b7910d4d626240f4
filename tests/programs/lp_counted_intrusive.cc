// Objects that count their own holders, and a smart pointer that is made to let go of one without dropping the reference.
// engines: track valgrind
// valgrind -O2: differs: gcc inlines it all, and in registers: a function stands for the variables that it has there
// options: --explain
// stdout: 2 sent, 1 queued
#include <cstdio>
#include <utility>
#include <vector>

class Message {
public:
    explicit Message(int size) : size(size) {}
    void ref() { ++references; }
    void unref() {
        if (--references == 0)
            delete this;
    }
    int bytes() const { return size; }

private:
    ~Message() = default;
    int references = 0;
    int size;
};

template <class T> class Ref {
public:
    Ref() = default;
    explicit Ref(T *target) : target(target) { target->ref(); }
    Ref(const Ref &other) : target(other.target) {
        if (target)
            target->ref();
    }
    Ref(Ref &&other) noexcept : target(std::exchange(other.target, nullptr)) {}
    Ref &operator=(Ref other) {
        std::swap(target, other.target);
        return *this;
    }
    ~Ref() {
        if (target)
            target->unref();
    }
    T *detach() { return std::exchange(target, nullptr); }
    T *operator->() const { return target; }

private:
    T *target = nullptr;
};

static std::vector<Ref<Message>> queue;

static int keep(Ref<Message> &message) {
    queue.push_back(message);
    Message *raw = message.detach();
    return raw->bytes() > 1000; // leaks: scope-end raw
}

static int send(Ref<Message> message) {
    return message->bytes() > 100 ? keep(message) : 1;
}

static Ref<Message> make(int size) {
    return Ref<Message>(new Message(size)); // lost: 1 block, 8 bytes; counted: 2 references, 1 holder
}

int main() {
    int sent = 0;
    for (int size : {10, 200, 30})
        sent += send(make(size));
    std::printf("%d sent, %zu queued\n", sent, queue.size());
    queue.clear();
    queue.shrink_to_fit();
}
