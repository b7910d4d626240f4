// A parser walks through its own copy with a second pointer when a bad digit throws: the one to the start is what held the copy.
// valgrind -O2: differs: gcc inlines sum_of into main, which no throw leaves: copy is in a register until the next text's comes
// stdout: bad digit after 3
// stdout: 6
#include <cctype>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>

__attribute__((noinline)) static int digit(const char *at, long seen) {
    if (!std::isdigit(static_cast<unsigned char>(*at)))
        throw std::invalid_argument("bad digit after " + std::to_string(seen));    // leaks: unwound copy
    return *at - '0';
}

static int sum_of(const char *text) {
    char *copy = new char[std::strlen(text) + 1];    // lost: 1 block, 6 bytes
    std::strcpy(copy, text);
    char *rest = copy;
    int sum = 0;
    for (char *end; (end = std::strchr(rest, ',')) != nullptr; rest = end + 1) {
        *end = '\0';
        sum += digit(rest, rest - copy);
    }
    sum += digit(rest, rest - copy);
    std::printf("%d\n", sum);
    delete[] copy;    // frees: 1 block
    return sum;
}

int main() {
    int all = 0;
    for (const char *text : {"12,x4", "1,2,3"}) {
        try {
            all += sum_of(text);
        } catch (const std::invalid_argument &error) {
            std::printf("%s\n", error.what());
        }
    }
    return all == 6 ? 0 : 1;
}
