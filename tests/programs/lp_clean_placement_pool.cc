// Objects are built in place in one slab, which only the slab's owner points to; each is destroyed by hand before its slot is used again.
// variants: -O0 -O2
// stdout: 12 opened, 4 busy
#include <cstdio>
#include <new>
#include <string>

class Connection {
public:
    Connection(int number, std::string peer) : number_(number), peer_(std::move(peer)), window_(new int[4]()) {}
    ~Connection() { delete[] window_; }
    int number() const { return number_; }

private:
    int number_;
    std::string peer_;
    int *window_;
};

class ConnectionPool {
public:
    ConnectionPool() : slab_(static_cast<unsigned char *>(::operator new(kSlots * sizeof(Connection)))) {}
    ~ConnectionPool() {
        for (int i = 0; i < kSlots; i++) {
            if (busy_[i])
                close(slot(i));
        }
        ::operator delete(slab_);
    }

    Connection *open(int number) {
        for (int i = 0; i < kSlots; i++) {
            if (!busy_[i]) {
                busy_[i] = true;
                return new (slot(i)) Connection(number, "peer with a rather long name " + std::to_string(number));
            }
        }
        return nullptr;
    }

    void close(Connection *connection) {
        connection->~Connection();
        busy_[connection - slot(0)] = false;
    }

private:
    enum { kSlots = 6 };
    Connection *slot(int index) { return reinterpret_cast<Connection *>(slab_) + index; }

    unsigned char *slab_;
    bool busy_[kSlots] = {};
};

int main() {
    ConnectionPool pool;
    int opened = 0, busy = 0;
    for (int number = 0; number < 12; number++) {
        Connection *connection = pool.open(number);
        if (connection == nullptr)
            return 1;
        opened++;
        busy++;
        if (connection->number() % 3 != 0) {
            pool.close(connection);
            busy--;
        }
    }
    std::printf("%d opened, %d busy\n", opened, busy);
    return 0;
}
