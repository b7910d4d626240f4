// C++ thread_local objects: destructors free at thread exit, and allocate while the thread is almost gone.
// flags: -pthread
#include <string>
#include <thread>
#include <vector>

struct Journal {
    std::vector<std::string> lines;
    ~Journal() {
        char *footer = new char[36];    // lost: 5 blocks, 180 bytes
        footer[0] = '-';
        footer = nullptr;
    }
};

static thread_local Journal journal;
static thread_local std::string *last_error;

static void serve(int number) {
    for (int i = 0; i < 20; i++)
        journal.lines.push_back("worker " + std::to_string(number) + " handled a rather long request line");
    last_error = new std::string("timeout");    // lost: 4 blocks, 128 bytes; forgotten: 1 block, 32 bytes
}

int main() {
    std::vector<std::thread> workers;
    for (int i = 0; i < 4; i++)
        workers.emplace_back(serve, i);
    for (auto &worker : workers)
        worker.join();
    serve(4);
    return 0;
}
