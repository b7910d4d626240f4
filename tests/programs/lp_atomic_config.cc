// A configuration is published through an atomic pointer: the exchanged one and the stored-over one are never deleted.
// valgrind-variable -O2: differs: gcc inlines exchange, and atomic instructions are not followed to the name of their slot
// flags: -pthread
// stdout: rate 30, error 2
#include <atomic>
#include <cstdio>
#include <thread>

struct Config {
    int rate;
    int burst;
};

struct Error {
    int code;
    char text[12];
};

static std::atomic<Config *> current{nullptr};
static std::atomic<Error *> last_error{nullptr};

static void reload(int rate) {
    Config *config = new Config;          // lost @config: 2 blocks, 16 bytes
    config->rate = rate;
    config->burst = 2 * rate;
    current.exchange(config);             // leaks @config: overwritten current
}

static void fail(int code) {
    Error *error = new Error;             // lost @error: 1 block, 16 bytes
    error->code = code;
    std::snprintf(error->text, sizeof error->text, "error %d", code);
    last_error.store(error, std::memory_order_release);    // leaks @error: overwritten last_error
}

static int rate() {
    const Config *config = current.load();
    return config->rate;
}

static int error_code() {
    const Error *error = last_error.load(std::memory_order_acquire);
    return error->code;                   // last used @error
}

int main() {
    int seen = 0;
    for (int round = 1; round <= 3; round++) {
        std::thread(reload, 10 * round).join();
        seen = rate();
    }
    for (int code = 1; code <= 2; code++) {
        std::thread(fail, code).join();
        if (error_code() != code)
            return 1;
    }
    std::printf("rate %d, error %d\n", seen, error_code());
    delete current.load();                // frees @config: 1 block
    delete last_error.load();             // frees @error: 1 block
    return 0;
}
