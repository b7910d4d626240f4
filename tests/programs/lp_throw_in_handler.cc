// A handler builds its report in a raw buffer and then throws another exception; the rest is cleaned up by destructors.
// valgrind -O2: differs: the unwinder's frames and the exception's landing stamp later than the throw
// stdout: load failed: bad header
// stdout: guards 0
#include <cstdio>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>

static int guards;

struct Guard {
    Guard() { guards++; }
    ~Guard() { guards--; }
};

static void read_header(const char *bytes) {
    Guard guard;
    auto copy = std::make_unique<char[]>(std::strlen(bytes) + 1);
    std::strcpy(copy.get(), bytes);
    if (copy[0] != 'H')
        throw std::invalid_argument("bad header");
}

static void load(const char *bytes) {
    Guard guard;
    try {
        read_header(bytes);
    } catch (const std::invalid_argument &error) {
        char *report = new char[40];                    // lost: 1 block, 40 bytes
        std::snprintf(report, 40, "load failed: %s", error.what());
        throw std::runtime_error(report);               // leaks: unwound report; last used
    }
}

int main() {
    try {
        load("x");
    } catch (const std::exception &error) {
        std::printf("%s\n", error.what());
    }
    std::printf("guards %d\n", guards);
    return 0;
}
