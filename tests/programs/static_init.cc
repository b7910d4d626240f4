// C++ static initialisation allocates before main and static destructors free after it; one buffer is lost.
#include <string>
#include <vector>

struct Registry {
    Registry() {
        names.reserve(16);
        for (int i = 0; i < 16; i++)
            names.push_back("codec with a name longer than the small buffer " + std::to_string(i));
        scratch = new char[88];    // lost: 1 block, 88 bytes
        scratch = nullptr;
    }
    std::vector<std::string> names;
    char *scratch;
};

static Registry registry;
static const std::string *banner = new std::string("ready");    // forgotten: 1 block, 32 bytes

static Registry &late_registry() {
    static Registry *shared = nullptr;
    static std::vector<std::string> copy = registry.names;
    return copy.empty() ? *shared : registry;
}

int main() {
    return late_registry().names.size() == 16 && *banner == "ready" ? 0 : 1;
}
