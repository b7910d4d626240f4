// A blob is released from its unique_ptr too early: the table is full, and the return forgets the raw pointer.
// stdout: stored 3, refused 2
#include <cstdio>
#include <memory>
#include <vector>

struct Blob {
    int key = 0;
    std::vector<char> bytes;
};

struct Table {
    std::vector<Blob *> rows;
    std::size_t room = 100;

    ~Table() {
        for (Blob *row : rows)
            delete row;                          // frees @blob: 3 blocks; frees @bytes: 3 blocks
    }
};

static std::unique_ptr<Blob> read_blob(int key) {
    auto blob = std::make_unique<Blob>();        // lost @blob: 2 blocks, 64 bytes
    blob->key = key;
    blob->bytes.resize(20 + 10 * static_cast<std::size_t>(key));    // indirect @bytes: 2 blocks, 110 bytes
    return blob;
}

static bool store(Table &table, std::unique_ptr<Blob> blob) {
    Blob *row = blob.release();
    std::size_t size = row->bytes.size();        // last used @blob
    if (size > table.room)
        return false;                            // leaks @blob: scope-end row; leaks @bytes: scope-end row
    table.room -= size;
    table.rows.push_back(row);
    return true;
}

int main() {
    Table table;
    int refused = 0;
    for (int key = 0; key < 5; key++) {
        if (!store(table, read_blob(key)))
            refused++;
    }
    std::printf("stored %zu, refused %d\n", table.rows.size(), refused);
    return 0;
}
