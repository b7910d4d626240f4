// A constructor throws after it has filled a raw member: its destructor will never run, on the stack or on the heap.
// gap: -O0 -O2: a member of an object on the stack is named by the object, not by `this`
// valgrind -O2: differs: gcc inlines the constructor of the object on the stack, whose member is in a register alone: its last use is told
// valgrind-variable -O0: differs: what a throw leaves is named by the frame that had the object, and memory that it takes back by nothing
// stdout: 1 loaded, 2 refused
#include <cstdio>
#include <cstring>
#include <memory>
#include <stdexcept>

class Texture {
public:
    Texture(const char *name, int width)
        : name_(new char[32]) {                           // lost: 2 blocks, 64 bytes
        std::strncpy(name_, name, 31);
        name_[31] = '\0';                                 // last used
        if (width <= 0 || width > 64)
            throw std::invalid_argument("bad width");     // leaks: unwound this->name_
        pixels_ = new int[static_cast<std::size_t>(width)]();
        width_ = width;
    }
    ~Texture() {
        delete[] pixels_;
        delete[] name_;
    }
    int width() const { return width_; }

private:
    char *name_;
    int *pixels_ = nullptr;
    int width_ = 0;
};

static int load(const char *name, int width) {
    auto texture = std::make_unique<Texture>(name, width);
    return texture->width();
}

static int probe(const char *name, int width) {
    Texture texture(name, width);
    return texture.width();
}

int main() {
    int loaded = 0, refused = 0;
    struct {
        const char *name;
        int width;
        int (*open)(const char *, int);
    } files[] = {{"grass", 16, load}, {"water", 0, load}, {"stone", 99, probe}};
    for (const auto &file : files) {
        try {
            if (file.open(file.name, file.width) == file.width)
                loaded++;
        } catch (const std::invalid_argument &) {
            refused++;
        }
    }
    std::printf("%d loaded, %d refused\n", loaded, refused);
    return 0;
}
