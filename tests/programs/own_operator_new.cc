// The program replaces the global operators new and delete by its own: they win, and malloc inside them is seen.
// stdout: 3 news, 2 deletes
// memcheck: differs: replaces the program's own operators too
// lsan: differs: does not link with a program's own operators
#include <cstdio>
#include <cstdlib>
#include <new>

static int news, deletes;

void *operator new(std::size_t size) {
    news++;
    if (void *block = std::malloc(size + 16))    // lost: 1 block, 56 bytes
        return block;
    throw std::bad_alloc();
}

void operator delete(void *block) noexcept {
    deletes++;
    std::free(block);
}

void operator delete(void *block, std::size_t) noexcept {
    deletes++;
    std::free(block);
}

struct Entry {
    long fields[5];
};

static void lose_entry() {
    Entry *entry = new Entry();
    entry->fields[0] = 1;
    entry = nullptr;
}

int main() {
    delete new Entry();
    delete new Entry();
    lose_entry();
    int total_news = news, total_deletes = deletes;
    std::printf("%d news, %d deletes\n", total_news, total_deletes);
    return 0;
}
