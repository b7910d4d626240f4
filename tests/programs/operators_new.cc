// Every operator new of C++ loses one block.
// lsan: differs: old words on the dead stack hide three blocks
#include <cstdlib>
#include <cstring>
#include <new>

struct Sample {
    double values[5];
};

struct alignas(64) Lane {
    float values[32];
};

static std::size_t touched;

/* Uses a block and keeps no pointer to it. */
template <class T> void touch(T *block, std::size_t size) {
    if (block == nullptr)
        std::abort();
    std::memset(static_cast<void *>(block), 1, size);
    touched += size;
}

static void run_filters() {
    touch(new Sample, 40);                                          // lost: 1 block, 40 bytes
    touch(new Sample[3], 120);                                      // lost: 1 block, 120 bytes
    touch(new (std::nothrow) Sample, 40);                           // lost: 1 block, 40 bytes
    touch(new (std::nothrow) Sample[4], 160);                       // lost: 1 block, 160 bytes
    touch(new Lane, 128);                                           // lost: 1 block, 128 bytes
    touch(new Lane[2], 256);                                        // lost: 1 block, 256 bytes
    touch(new (std::nothrow) Lane, 128);                            // lost: 1 block, 128 bytes
    touch(new (std::nothrow) Lane[3], 384);                         // lost: 1 block, 384 bytes
    touch(::operator new(77), 77);                                  // lost: 1 block, 77 bytes
    touch(::operator new[](78, std::align_val_t(32)), 78);          // lost: 1 block, 78 bytes
}

int main() {
    run_filters();
    return touched == 1411 ? 0 : 1;
}
