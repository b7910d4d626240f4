// Records are parsed in a loop whose body may throw and is caught outside the body: the record in work is lost.
// stdout: 2 good, 1 bad
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>

struct Record {
    int id;
    char tag[12];
};

static int to_int(const std::string &s) {
    if (s.empty() || s[0] < '0' || s[0] > '9')
        throw std::runtime_error("not a number: " + s);    // leaks: unwound record
    return std::atoi(s.c_str());
}

static int read_one(const std::string &line) {
    Record *record = new Record;           // lost: 1 block, 16 bytes
    std::snprintf(record->tag, sizeof record->tag, "%s", line.c_str());   // last used
    record->id = to_int(line);
    int id = record->id;
    delete record;
    return id;
}

int main() {
    int good = 0, bad = 0;
    for (const char *line : {"1", "x", "3"}) {
        try {
            read_one(line);
            good++;
        } catch (const std::exception &) {
            bad++;
        }
    }
    std::printf("%d good, %d bad\n", good, bad);
    return 0;
}
