// A state machine in a variant: the failed state is built over the loading one, which owned a raw buffer.
// valgrind -O2: differs: gcc drops state_ and has bytes only in registers: the next call needs them
// stdout: loaded 1, failed 2
#include <cstdio>
#include <variant>

struct Idle {};
struct Loading {
    unsigned char *bytes;
    std::size_t size;
};
struct Failed {
    long code;
    long offset;
};

class Loader {
public:
    void begin(std::size_t size) {
        unsigned char *bytes = new unsigned char[32];    // lost: 2 blocks, 64 bytes
        for (std::size_t i = 0; i < size; i++)
            bytes[i] = static_cast<unsigned char>(i * 37);
        state_ = Loading{bytes, size};
    }

    void check(unsigned char limit) {
        const Loading &loading = std::get<Loading>(state_);
        long offset = 0;
        for (std::size_t i = 0; i < loading.size; i++) {
            if (loading.bytes[i] > limit)                // last used
                offset = static_cast<long>(i);
        }
        if (offset == 0) {
            delete[] loading.bytes;                      // frees: 1 block
            state_ = Idle{};
            loaded_++;
        } else {
            state_ = Failed{5, offset};                  // leaks: overwritten this->state_
            failed_++;
        }
    }

    void summary() const { std::printf("loaded %d, failed %d\n", loaded_, failed_); }

private:
    std::variant<Idle, Loading, Failed> state_;
    int loaded_ = 0;
    int failed_ = 0;
};

int main() {
    Loader loader;
    for (std::size_t size : {4, 1, 8}) {
        loader.begin(size);
        loader.check(100);
    }
    loader.summary();
    return 0;
}
