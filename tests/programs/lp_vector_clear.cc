// clear() ends the elements, not the records they point to. The dead capacity keeps the bits for a while, but no longer owns them.
// gap: -O0 -O2: a local that is read no more counts as a holder until its scope ends
// valgrind -O0: differs: the local that put a record into the vector is still there when it is cleared
// valgrind -O2: differs: a vector leaves what it drops in its buffer, until that is written over or freed
// stdout: 8 records, 44 bytes
#include <cstdio>
#include <cstring>
#include <vector>

struct Record {
    int level;
    const char *text;
};

class Logger {
public:
    Logger() { pending_.reserve(4); }

    void log(int level, const char *text) {
        Record *record = new Record{level, text};    // lost: 8 blocks, 128 bytes
        pending_.push_back(record);
        if (pending_.size() == 4)
            flush();
    }

    void flush() {
        for (const Record *record : pending_) {
            written_++;
            bytes_ += std::strlen(record->text);     // last used
        }
        pending_.clear();                            // leaks: holder-freed this->pending_
    }

    void summary() const { std::printf("%d records, %zu bytes\n", written_, bytes_); }

private:
    std::vector<Record *> pending_;
    int written_ = 0;
    std::size_t bytes_ = 0;
};

int main() {
    Logger logger;
    const char *words[] = {"start", "bind", "listen", "accept", "close", "retry", "accept", "stopped"};
    for (const char *word : words)
        logger.log(1, word);
    logger.flush();
    logger.summary();
    return 0;
}
