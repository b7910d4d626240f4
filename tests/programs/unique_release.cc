// unique_ptr::release() gives the pointer away and nobody takes it.
// lsan: differs: an old word on the dead stack hides a block
#include <memory>
#include <string>
#include <utility>

struct Connection {
    explicit Connection(std::string peer) : peer(std::move(peer)) {}
    std::string peer;
    int descriptor = -1;
};

static std::unique_ptr<Connection> connect(const std::string &peer) {
    return std::unique_ptr<Connection>(new Connection(peer));    // lost: 2 blocks, 80 bytes
}

static bool hand_over(const std::string &peer) {
    auto connection = connect(peer);
    if (peer.size() > 8)
        return connection.release() != nullptr;
    return false;
}

int main() {
    hand_over("short");
    hand_over("longer-name");
    return hand_over("other-name") ? 0 : 1;
}
