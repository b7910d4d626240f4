// A custom allocator hands out pieces of chunks and keeps free ones in a list through their first word; the pool frees its chunks.
// variants: -O0 -O2
// stdout: 90 left, 6 chunks
#include <cstddef>
#include <cstdio>
#include <list>
#include <vector>

class ChunkPool {
public:
    static constexpr std::size_t kPiece = 32, kPieces = 40;

    ~ChunkPool() {
        for (unsigned char *chunk : chunks_)
            delete[] chunk;
    }

    void *take() {
        if (free_ == nullptr)
            grow();
        Piece *piece = free_;
        free_ = piece->next;
        return piece;
    }
    void give_back(void *memory) { free_ = new (memory) Piece{free_}; }
    std::size_t chunks() const { return chunks_.size(); }

private:
    struct Piece {
        Piece *next;
    };

    void grow() {
        unsigned char *chunk = new unsigned char[kPiece * kPieces];
        chunks_.push_back(chunk);
        for (std::size_t i = 0; i < kPieces; i++)
            give_back(chunk + i * kPiece);
    }

    Piece *free_ = nullptr;
    std::vector<unsigned char *> chunks_;
};

static ChunkPool pool;

template <class T> struct PoolAllocator {
    using value_type = T;
    PoolAllocator() = default;
    template <class U> PoolAllocator(const PoolAllocator<U> &) {}
    T *allocate(std::size_t) {
        static_assert(sizeof(T) <= ChunkPool::kPiece, "nodes only");
        return static_cast<T *>(pool.take());
    }
    void deallocate(T *memory, std::size_t) { pool.give_back(memory); }
    bool operator==(const PoolAllocator &) const { return true; }
    bool operator!=(const PoolAllocator &) const { return false; }
};

int main() {
    std::list<long, PoolAllocator<long>> numbers;
    for (int round = 0; round < 3; round++) {
        for (long i = 0; i < 150; i++)
            numbers.push_back(i);
        numbers.remove_if([](long number) { return number >= 30; });
    }
    std::size_t left = numbers.size();
    numbers.clear();
    std::printf("%zu left, %zu chunks\n", left, pool.chunks());
    return 0;
}
