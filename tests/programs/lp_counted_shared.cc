// Two shared pointers that hold each other: all references have their holders, and the place is where the last pointer from outside went.
// engines: track
// options: --explain
// stdout: 2 rooms
// lsan: differs: of a cycle it calls all blocks indirect
#include <cstdio>
#include <memory>

struct Room {
    std::shared_ptr<Room> next;
    std::shared_ptr<Room> back;
    int number = 0;
};

static std::shared_ptr<Room> make(int number) {
    auto room = std::make_shared<Room>(); // lost: 1 block, 56 bytes; indirect: 1 block, 56 bytes; counted: 1 reference, 1 holder
    room->number = number;
    return room;
}

static int build() {
    auto hall = make(1), cellar = make(2);
    hall->next = cellar;
    cellar->back = hall;
    return hall->next->number; // leaks: scope-end ?
}

int main() {
    std::printf("%d rooms\n", build());
}
