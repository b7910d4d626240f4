// A registry of raw pointers: remove() erases the entry by its key, reset() clears the map, neither deletes what they held.
// valgrind-variable -O2: differs: gcc inlines the map's methods: the functions that free are given its nodes, not the map
// stdout: 4 added, 0 left
#include <cstdio>
#include <map>
#include <string>

struct Shader {
    int program;
    char source[28];
};

class Registry {
public:
    void add(const std::string &name, int program) {
        Shader *shader = new Shader();        // lost @removed: 1 block, 32 bytes; lost @cleared: 3 blocks, 96 bytes
        shader->program = program;
        std::snprintf(shader->source, sizeof shader->source, "%s.glsl", name.c_str());
        shaders_[name] = shader;              // last used @removed; last used @cleared
        added_++;
    }
    void remove(const std::string &name) {
        shaders_.erase(name);                 // leaks @removed: holder-freed this->shaders_
    }
    void reset() {
        shaders_.clear();                     // leaks @cleared: holder-freed this->shaders_
    }
    void summary() const { std::printf("%d added, %zu left\n", added_, shaders_.size()); }

private:
    std::map<std::string, Shader *> shaders_;
    int added_ = 0;
};

int main() {
    Registry registry;
    registry.add("sky", 1);
    registry.add("water", 2);
    registry.add("stone", 3);
    registry.add("grass", 4);
    registry.remove("water");
    registry.reset();
    registry.summary();
    return 0;
}
