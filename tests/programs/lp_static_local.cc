// A function keeps its last answer in a static local and overwrites it with the next one; the final answer is still held at the end.
// stdout: file not found (2)
// stdout: access denied (13)
// stdout: access denied (13)
// stdout: no space left (28)
#include <cstdio>
#include <initializer_list>

static const char *reason(int code) {
    switch (code) {
    case 2:
        return "file not found";
    case 13:
        return "access denied";
    case 28:
        return "no space left";
    default:
        return "unknown";
    }
}

static const char *describe(int code) {
    static char *message;
    static int last;
    if (message != nullptr && code == last)
        return message;
    char *fresh = new char[40];    // lost @older: 2 blocks, 80 bytes; forgotten @last: 1 block, 40 bytes
    std::snprintf(fresh, 40, "%s (%d)", reason(code), code);
    last = code;
    message = fresh;               // leaks @older: overwritten message
    return message;
}

static void complain(int code) {
    const char *text = describe(code);
    std::puts(text);               // last used @older; last used @last
}

int main() {
    for (int code : {2, 13, 13, 28})
        complain(code);
    return 0;
}
