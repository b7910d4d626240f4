// Words of commands that are strings of the C++ library; of two warnings about one allocation, one is true.
// options: --runs 400
#include <iostream>
#include <map>
#include <sstream>
#include <string>

struct Record {
    long size;
};

static std::map<std::string, Record *> records;

static bool add(const std::string &key, long size)
{
    Record *record = new Record{size}; // @twice MA; @negative MA
    if (size < 0) {
        delete record;
        return false; // @negative LK = bloat
    }
    if (records.count(key))
        return false; // @twice LK = must-leak lost
    records[key] = record;
    return true;
}

int main()
{
    std::string line, verb, key;
    long size;
    while (std::getline(std::cin, line)) {
        std::istringstream in(line);
        if (in >> verb >> key >> size && verb == "insert")
            std::cout << add(key, size) << "\n";
    }
    for (auto &entry : records)
        delete entry.second;
    return 0;
}
