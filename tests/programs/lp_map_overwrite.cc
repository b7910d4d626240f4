// A name cache is told an address twice: operator[] hands out the old slot, and the assignment overwrites it.
// valgrind-variable: differs: the element is written through the reference that operator[] returned, which has no name
// stdout: 4 hosts, 6 hits
#include <cstdio>
#include <map>
#include <string>

struct Entry {
    unsigned address;
    unsigned hits;
    long expires;
};

static std::map<std::string, Entry *> cache;
static unsigned total_hits;

static void remember(const std::string &host, unsigned address) {
    Entry *entry = new Entry;       // lost: 2 blocks, 32 bytes
    entry->address = address;
    entry->hits = 0;
    entry->expires = 3600;
    cache[host] = entry;            // leaks: overwritten cache[host]
}

static unsigned resolve(const std::string &host) {
    auto found = cache.find(host);
    if (found == cache.end())
        return 0;
    Entry *entry = found->second;
    total_hits++;
    entry->hits++;
    return entry->address;          // last used
}

static void flush() {
    for (auto &[host, entry] : cache)
        delete entry;               // frees: 4 blocks
    cache.clear();
}

int main() {
    struct {
        const char *host;
        unsigned address;
    } answers[] = {{"ns", 10}, {"mail", 11}, {"www", 12}, {"mail", 13}, {"ftp", 14}, {"www", 15}};
    for (const auto &answer : answers) {
        remember(answer.host, answer.address);
        if (resolve(answer.host) != answer.address)
            return 1;
    }
    std::printf("%zu hosts, %u hits\n", cache.size(), total_hits);
    flush();
    return 0;
}
