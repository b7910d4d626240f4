// A constructor throws inside a loop's try block, in the function that catches it: the half-made object ends with the throw, not where the next one is made.
// gap: -O0 -O2: a member of an object on the stack is named by the object, not by `this`
// valgrind-variable -O0: differs: what a throw leaves is named by the frame that had the object
// valgrind -O2: differs: gcc inlines the constructor, whose member is in a register alone: it is overwritten in the next round
// stdout: 2 open
#include <cstdio>
#include <cstring>
#include <stdexcept>

class Port {
public:
    explicit Port(int number) : name_(new char[16]) {    // lost: 1 block, 16 bytes
        std::snprintf(name_, 16, "port %d", number);      // last used
        if (number < 0)
            throw std::out_of_range("number");    // leaks: unwound this->name_
        number_ = number;
    }
    ~Port() { delete[] name_; }    // frees: 2 blocks
    bool is_open() const { return name_[0] == 'p' && number_ >= 0; }

private:
    char *name_;
    int number_ = 0;
};

int main() {
    int open = 0;
    const int numbers[] = {1, -1, 2};
    for (int number : numbers) {
        try {
            Port port(number);
            open += port.is_open();
        } catch (const std::out_of_range &) {
        }
    }
    std::printf("%d open\n", open);
    return 0;
}
