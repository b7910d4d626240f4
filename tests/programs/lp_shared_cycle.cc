// Two peers hold each other by shared_ptr where one side should be weak: the locals that made them are the last way in.
// lsan: differs: calls every member of the cycle indirect, when no old word on the dead stack hides it
// stdout: ping pong
#include <cstdio>
#include <memory>

class Peer {
public:
    explicit Peer(const char *word) : word_(word) {}
    ~Peer() { std::printf("gone\n"); }

    void connect(const std::shared_ptr<Peer> &other) { other_ = other; }
    const char *ask() const { return other_->word_; }

private:
    const char *word_;
    std::shared_ptr<Peer> other_;
};

static std::shared_ptr<Peer> make_peer(const char *word) {
    return std::make_shared<Peer>(word);    // lost: 1 block, 40 bytes; indirect: 1 block, 40 bytes
}

static void play() {
    auto host = make_peer("ping");
    auto guest = make_peer("pong");
    host->connect(guest);
    guest->connect(host);
    std::printf("%s %s\n", guest->ask(), host->ask());
}                                           // leaks: scope-end host

int main() {
    play();
    return 0;
}
