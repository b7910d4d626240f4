// A destructor forgets one of its two raw members: whoever deletes the connection loses the inbox.
// valgrind-variable -O0: differs: g++ keeps the deleted pointer in a register that is no variable
// stdout: 3 connections, 21 bytes
#include <cstdio>
#include <cstring>

class Connection {
public:
    explicit Connection(int descriptor)
        : descriptor_(descriptor),
          inbox_(new char[512]),      // lost: 3 blocks, 1536 bytes
          outbox_(new char[256]) {
        inbox_[0] = outbox_[0] = '\0';
    }
    ~Connection() {
        descriptor_ = -1;
        delete[] outbox_;
    }

    void receive(const char *bytes) { std::strcpy(inbox_, bytes); }

    std::size_t answer() {
        std::snprintf(outbox_, 256, "re: %s", inbox_);    // last used
        return std::strlen(outbox_);
    }

private:
    int descriptor_;
    char *inbox_;
    char *outbox_;
};

static std::size_t serve(int descriptor, const char *request) {
    Connection *connection = new Connection(descriptor);
    connection->receive(request);
    std::size_t sent = connection->answer();
    delete connection;                // leaks: holder-freed connection->inbox_
    return sent;
}

int main() {
    const char *requests[] = {"get", "put", "ls/"};
    std::size_t sent = 0;
    int count = 0;
    for (const char *request : requests)
        sent += serve(count++, request);
    std::printf("%d connections, %zu bytes\n", count, sent);
    return 0;
}
