// An early return among objects that clean up after themselves: the one raw buffer is lost at that return.
// valgrind -O2: differs: gcc has words in a register alone: rest, which led into the block, is the last that is seen
// stdout: 2 settings
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>

static std::mutex guard;
static std::map<std::string, std::string> settings;

static bool apply(const std::string &line) {
    std::lock_guard<std::mutex> lock(guard);
    auto copy = std::make_unique<std::string>(line);
    char *words = new char[64];                  // lost: 1 block, 64 bytes
    std::snprintf(words, 64, "%s", copy->c_str());

    char *rest = nullptr;
    const char *command = strtok_r(words, " ", &rest);
    const char *key = strtok_r(nullptr, " ", &rest);
    const char *value = strtok_r(nullptr, " ", &rest);
    if (std::strcmp(command, "set") != 0 || key == nullptr || value == nullptr)    // last used
        return false;                            // leaks: scope-end words
    settings[key] = value;
    delete[] words;                              // frees: 2 blocks
    return true;
}

int main() {
    int applied = 0;
    for (const char *line : {"set colour blue", "set size", "set shape round"}) {
        if (apply(line))
            applied++;
    }
    std::printf("%d settings\n", applied);
    return 0;
}
