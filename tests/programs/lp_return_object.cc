// An early return of an object that is built where the caller wants it, and one with an object of an inner scope to
// destroy: the way out goes through blocks that ask what is to be destroyed, and still is the statement's own.
// valgrind -O2: differs: only registers have the name
// stdout: pear 3
// stdout: 4
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

struct Level {
    int value;
    ~Level() { value = 0; }
};

static std::string label(const char *from, int count) {
    char *name = strdup(from);                       // lost @name: 1 block, 5 bytes
    if (count > 2) {
        std::string text = name;                     // last used @name
        text += " " + std::to_string(count);
        return text;                                 // leaks @name: scope-end name
    }
    std::string text(name);
    std::free(name);
    return text;
}

static int rank(const char *from, int count) {
    char *name = strdup(from);                       // lost @rank: 1 block, 6 bytes
    Level level{count};
    if (name[0] == 'a') {                            // last used @rank
        Level next{count + 1};
        return next.value;                           // leaks @rank: scope-end name
    }
    std::free(name);
    return level.value;
}

int main() {
    std::printf("%s\n", label("pear", 3).c_str());
    std::printf("%d\n", rank("apple", 3));
}
