// A cursor lives in an optional; emplace replaces it where the class has a pointer and no destructor.
// valgrind: differs: std::optional leaves the bytes of what it resets until they are written over
// stdout: 2 cursors
#include <cstdio>
#include <cstring>
#include <optional>

struct Cursor {
    char *row;
    int at;
    explicit Cursor(int n) : row(new char[16]), at(n) { std::memset(row, 'a' + n, 16); }    // lost @first: 1 block, 16 bytes; lost @second: 1 block, 16 bytes; last used @first; last used @second
};

class Query {
public:
    void open(int n) {
        cursor_.emplace(n);        // leaks @first: holder-freed this->cursor_
        opened_++;
    }
    void close() { cursor_.reset(); }   // leaks @second: holder-freed this->cursor_
    int opened() const { return opened_; }

private:
    std::optional<Cursor> cursor_;
    int opened_ = 0;
};

int main() {
    Query q;
    q.open(1);
    q.open(2);
    q.close();
    std::printf("%d cursors\n", q.opened());
    return 0;
}
