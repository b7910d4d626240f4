// A ring of raw slots: a new packet is built in place over one that nobody has read, and with it the last pointer to its payload.
// valgrind-variable -O0: differs: the slot is written through what operator new returned, which has no name
// stdout: sent 6, read 30: 30
#include <cstdio>
#include <cstring>
#include <new>

struct Packet {
    int number;
    char *payload;
};

class Ring {
public:
    ~Ring() {
        while (used_ > 0)
            delete[] take().payload;
    }

    void put(int number) {
        char *payload = new char[16];                     // lost: 2 blocks, 32 bytes
        std::memset(payload, number, 16);
        if (used_ == kSlots) {
            first_ = (first_ + 1) % kSlots;
            used_--;
        }
        Packet *slot = reinterpret_cast<Packet *>(storage_) + (first_ + used_++) % kSlots;
        new (slot) Packet{number, payload};               // leaks: overwritten slot->payload; last used
    }

    Packet take() {
        Packet packet = *(reinterpret_cast<Packet *>(storage_) + first_);
        first_ = (first_ + 1) % kSlots;
        used_--;
        return packet;
    }

private:
    enum { kSlots = 4 };
    alignas(Packet) unsigned char storage_[kSlots * sizeof(Packet)] = {};
    int first_ = 0;
    int used_ = 0;
};

int main() {
    Ring ring;
    for (int number = 0; number < 6; number++)
        ring.put(10 * number + 10);
    Packet packet = ring.take();
    std::printf("sent 6, read %d: %d\n", packet.number, packet.payload[15]);
    delete[] packet.payload;
    return 0;
}
