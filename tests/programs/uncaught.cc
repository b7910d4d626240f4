// An exception that nobody catches: terminate, abort; the report of what is known comes first.
// signal: 6
// lsan: differs: does not check a program that a signal ends
#include <stdexcept>
#include <string>

static char *shared_page;

static void lose_page() {
    shared_page = new char[47];    // lost: 1 block, 47 bytes; forgotten: 1 block, 47 bytes
    shared_page[0] = 'p';
}

static void load(const std::string &name) {
    if (name.empty())
        throw std::runtime_error("a name was expected");
}

int main() {
    lose_page();
    lose_page();
    load("");
    return 0;
}
