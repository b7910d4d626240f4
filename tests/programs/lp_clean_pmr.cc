// Containers over memory resources: nodes come from an arena and a pool, and go back all at once without one deallocation each.
// variants: -O0 -O2
// stdout: 200 words, 26 letters, longest 12
#include <algorithm>
#include <cstdio>
#include <map>
#include <memory_resource>
#include <string>
#include <vector>

static std::size_t count_words(std::pmr::memory_resource *memory, std::size_t *longest) {
    std::pmr::vector<std::pmr::string> words(memory);
    for (int i = 0; i < 200; i++)
        words.emplace_back(static_cast<std::size_t>(1 + i % 12), static_cast<char>('a' + i % 26));
    for (const auto &word : words)
        *longest = std::max(*longest, word.size());
    return words.size();
}

static std::size_t count_letters(std::pmr::memory_resource *memory) {
    // The map is never destroyed: its nodes live and end with the arena.
    using Index = std::pmr::map<char, std::pmr::vector<int>>;
    void *place = memory->allocate(sizeof(Index), alignof(Index));
    Index *index = new (place) Index(memory);
    for (int i = 0; i < 200; i++)
        (*index)[static_cast<char>('a' + i % 26)].push_back(i);
    return index->size();
}

int main() {
    std::size_t longest = 0, words = 0, letters = 0;
    {
        std::pmr::unsynchronized_pool_resource pool;
        words = count_words(&pool, &longest);
    }
    {
        std::pmr::monotonic_buffer_resource arena(256);
        letters = count_letters(&arena);
    }
    std::printf("%zu words, %zu letters, longest %zu\n", words, letters, longest);
    return 0;
}
