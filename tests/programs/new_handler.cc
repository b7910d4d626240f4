// A new_handler gives up its reserve and operator new tries again; when it is out of ideas, bad_alloc is thrown.
// Not under Valgrind, which ends a program whose operator new fails, as it cannot throw.
// engines: track preload
// stdout: reserve released, 2 attempts
// memcheck: differs: ends a program whose operator new fails, as it cannot throw
// lsan: differs: ends a program whose operator new fails
#include <cstdio>
#include <cstdlib>
#include <new>

static char *reserve;
static int attempts;

static void release_reserve() {
    attempts++;
    if (reserve == nullptr) {
        std::set_new_handler(nullptr);
        return;
    }
    delete[] reserve;
    reserve = nullptr;
}

static bool load(std::size_t size) {
    try {
        ::operator delete(::operator new(size));
        return true;
    } catch (const std::bad_alloc &) {
        return false;
    }
}

static void forget_index() {
    char *index = new char[56];    // lost: 1 block, 56 bytes
    index[0] = 1;
    index = nullptr;
}

int main() {
    volatile std::size_t size = std::size_t(1) << 62;

    reserve = new char[1 << 16];
    std::set_new_handler(release_reserve);
    bool loaded = load(size);
    forget_index();
    if (!loaded && reserve == nullptr)
        std::printf("reserve released, %d attempts\n", attempts);
    return 0;
}
