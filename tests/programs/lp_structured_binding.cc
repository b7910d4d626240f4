// What a call returns is taken apart into names; an early return forgets the part that has to be freed.
// valgrind -O2: differs: gcc inlines the functions that return, and has the parts in registers alone
// stdout: 3 abc
// stdout: 4 wxyz
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

struct Text {
    long length;
    char *bytes;
};

static Text text_of(const char *from) {
    return Text{static_cast<long>(std::strlen(from)), strdup(from)};              // lost @text: 1 block, 4 bytes
}

static std::pair<long, char *> pair_of(const char *from) {
    return {static_cast<long>(std::strlen(from)), strdup(from)};                  // lost @pair: 1 block, 5 bytes
}

static long read_text(const char *from) {
    auto [length, bytes] = text_of(from);
    std::printf("%ld %s\n", length, bytes);                                       // last used @text
    if (length < 4)
        return length;                                                            // leaks @text: scope-end bytes
    std::free(bytes);                                                             // frees @text: 1 block
    return 0;
}

static long read_pair(const char *from) {
    auto [length, bytes] = pair_of(from);
    if (length < 5 && bytes[0] == 'd')                                            // last used @pair
        return length;                                                            // leaks @pair: scope-end ?
    std::free(bytes);                                                             // frees @pair: 1 block
    return 0;
}

int main() {
    long sum = read_text("abc") + read_text("wxyz") + read_pair("defg") + read_pair("hijkl");
    return sum == 7 ? 0 : 1;
}
