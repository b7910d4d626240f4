// An optional holds a plain struct with a raw buffer: a new value overwrites it, reset() ends it, neither frees the buffer.
// gap: -O0 -O2: the optional is named, not the field of what it holds
// valgrind: differs: std::optional leaves the bytes of what it resets until they are written over
// stdout: 3 started, 1 finished, 96 bytes
#include <cstdio>
#include <cstring>
#include <optional>

struct Transfer {
    char *buffer;
    std::size_t size;
    std::size_t done;
};

class Channel {
public:
    void start(std::size_t size) {
        char *buffer = new char[size];                   // lost @restarted: 1 block, 64 bytes; lost @aborted: 1 block, 64 bytes
        started_++;
        current_ = Transfer{buffer, size, 0};            // leaks @restarted: overwritten this->current_->buffer
    }

    void receive(const char *bytes, std::size_t count) {
        std::memcpy(current_->buffer + current_->done, bytes, count);    // last used @restarted; last used @aborted
        current_->done += count;
        total_ += count;
    }

    void abort() {
        current_.reset();                                // leaks @aborted: holder-freed this->current_->buffer
    }

    void finish() {
        finished_++;
        delete[] current_->buffer;
        current_.reset();
    }

    void summary() const { std::printf("%d started, %d finished, %zu bytes\n", started_, finished_, total_); }

private:
    std::optional<Transfer> current_;
    int started_ = 0;
    int finished_ = 0;
    std::size_t total_ = 0;
};

int main() {
    const char block[32] = "payload";
    Channel channel;
    channel.start(64);
    channel.receive(block, sizeof block);
    channel.start(64);
    channel.receive(block, sizeof block);
    channel.abort();
    channel.start(64);
    channel.receive(block, sizeof block);
    channel.finish();
    channel.summary();
    return 0;
}
