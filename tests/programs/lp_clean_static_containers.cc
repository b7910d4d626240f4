// What static containers own is freed after main, in the reverse order of their making; what a deliberate singleton owns stays reachable.
// variants: -O0 -O2
// stdout: 3 plugins, 2 aliases
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

struct Plugin {
    explicit Plugin(std::string name) : name(std::move(name)) {}
    std::string name;
    std::vector<int> versions{1, 2, 3};
};

static std::map<std::string, std::unique_ptr<Plugin>> plugins;

static std::vector<Plugin *> &load_order() {
    static std::vector<Plugin *> order;
    return order;
}

// Never destroyed, so that other static destructors may still use it.
static std::map<int, int> &aliases() {
    static auto &table = *new std::map<int, int>;    // forgotten: 1 block, 48 bytes
    return table;
}

static void alias(int from, int to) {
    aliases()[from] = to;                            // forgotten: 2 blocks, 80 bytes
}

struct Scrubber {
    std::vector<char *> secrets;
    ~Scrubber() {
        for (char *secret : secrets) {
            *secret = static_cast<char>(aliases().count(1));
            delete[] secret;
        }
    }
};

static Scrubber scrubber;

static void add(const char *name) {
    auto plugin = std::make_unique<Plugin>(std::string(name) + ", a plugin with a long description");
    load_order().push_back(plugin.get());
    plugins[name] = std::move(plugin);
    scrubber.secrets.push_back(new char[16]);
}

int main() {
    for (const char *name : {"audio", "video", "net"})
        add(name);
    alias(1, 10);
    alias(2, 20);
    std::printf("%zu plugins, %zu aliases\n", load_order().size(), aliases().size());
    return 0;
}
