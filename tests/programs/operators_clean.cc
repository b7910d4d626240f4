// Every operator new with the delete that belongs to it: sized, aligned, nothrow and array; nothing is left.
#include <cstdint>
#include <cstdlib>
#include <new>

struct Node {
    virtual ~Node() = default;
    std::uint64_t key = 7;
};

struct Leaf final : Node {
    char text[40] = "leaf";
};

struct alignas(128) Tile {
    ~Tile() { cells[0] = 0; }
    int cells[64] = {};
};

static void require(bool holds) {
    if (!holds)
        std::abort();
}

int main() {
    for (int round = 0; round < 100; round++) {
        Node *leaf = new Leaf;
        delete leaf;
        Leaf *leaves = new Leaf[5];
        delete[] leaves;
        Tile *tile = new Tile;
        require(reinterpret_cast<std::uintptr_t>(tile) % 128 == 0);
        delete tile;
        Tile *tiles = new Tile[3];
        require(reinterpret_cast<std::uintptr_t>(tiles) % 128 == 0);
        delete[] tiles;
        delete new (std::nothrow) Leaf;
        delete[] new (std::nothrow) Tile[2];

        void *raw = ::operator new(100);
        ::operator delete(raw, std::size_t(100));
        raw = ::operator new[](100);
        ::operator delete[](raw, std::size_t(100));
        raw = ::operator new(100, std::align_val_t(64));
        ::operator delete(raw, std::size_t(100), std::align_val_t(64));
        raw = ::operator new[](100, std::align_val_t(64), std::nothrow);
        ::operator delete[](raw, std::align_val_t(64), std::nothrow);
        raw = ::operator new(100, std::nothrow);
        ::operator delete(raw, std::nothrow);
    }
    delete static_cast<Leaf *>(nullptr);
    return 0;
}
