// A number that is none ends a sum by an exception of the library, in functions that the optimiser puts into the one that catches it.
// valgrind -O2: differs: gcc inlines sum_fields into main, which no throw leaves: copy is in the frame of main until that returns
// stdout: 6
// stdout: not a sum: 1,x,9
#include <cstdio>
#include <cstring>
#include <initializer_list>
#include <stdexcept>
#include <string>

static int parse_int(const char *text) {
    return std::stoi(text);    // leaks: unwound ?
}

static int sum_fields(const char *line) {
    char *copy = new char[std::strlen(line) + 1];    // lost: 1 block, 6 bytes
    std::strcpy(copy, line);
    int sum = 0;
    for (char *rest = copy, *comma; rest != nullptr; rest = comma ? comma + 1 : nullptr) {
        comma = std::strchr(rest, ',');
        if (comma != nullptr)
            *comma = '\0';
        sum += parse_int(rest);
    }
    delete[] copy;    // frees: 1 block
    return sum;
}

int main() {
    for (const char *line : {"1,2,3", "1,x,9"}) {
        try {
            std::printf("%d\n", sum_fields(line));
        } catch (const std::invalid_argument &) {
            std::printf("not a sum: %s\n", line);
        }
    }
    return 0;
}
