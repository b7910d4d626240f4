// Two shared pointers that hold each other: all references have their holders, and the place is where the last pointer from outside went.
// engines: track
// options: --explain
// stdout: 2 rooms
#include <cstdio>
#include <memory>

struct Room {
    std::shared_ptr<Room> next;
    std::shared_ptr<Room> back;
    int number = 0;
};

static int build() {
    auto hall = std::make_shared<Room>(); // indirect: 1 block, 56 bytes; counted: 1 reference, 1 holder
    auto cellar = std::make_shared<Room>(); // lost: 1 block, 56 bytes
    hall->number = 1;
    cellar->number = 2;
    hall->next = cellar;
    cellar->back = hall;
    return hall->next->number; // leaks: scope-end ?
}

int main() {
    std::printf("%d rooms\n", build());
}
