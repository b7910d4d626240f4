// A pool of a class's own, by its methods' names; called through a pointer to the base. The program does not export them, so they cannot be preloaded.
// config: [[allocator]]
// config: alloc = "Arena::take"
// config: size = 1
// config: free = "Arena::give"
// config: pointer = 1
// config: pool = 0
// engines: track valgrind
// stdout: 6
// memcheck: differs: it knows nothing of the pool
// lsan: differs: it knows nothing of the pool
#include <cstdio>
#include <cstdlib>
#include <new>

struct Memory {
    virtual void *take(std::size_t size) = 0;
    virtual void give(void *block) = 0;
    virtual ~Memory() = default;
};

class Arena : public Memory {
public:
    void *take(std::size_t size) override;
    void give(void *block) override;

private:
    char *memory = new char[4096] + 16;
    std::size_t used = 0;
    int given = 0;
};

void *Arena::take(std::size_t size) {
    void *block = memory + used;
    used += (size + 15) / 16 * 16;
    return block;
}

void Arena::give(void *) {
    given++;
}

struct Shape {
    Shape(int sides, Shape *next) : sides(sides), next(next) {}
    int sides;
    Shape *next;
};

static Arena arena;
static Memory *memory = &arena;

static Shape *make(int sides, Shape *next) {
    void *room = memory->take(sizeof(Shape)); // lost: 1 block, 16 bytes
    return new (room) Shape(sides, next);
}

static int count(int sides) {
    Shape *first = make(sides, nullptr);
    Shape *second = make(sides, first);
    int sum = first->sides + second->sides;
    memory->give(second);
    if (sum > 4)
        return sum; // leaks: scope-end first
    memory->give(first);
    return sum;
}

int main() {
    std::printf("%d\n", count(3));
}
