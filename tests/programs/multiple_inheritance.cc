// The only pointer is to a second base class, which lies inside the block: it is held, not lost.
// lsan: differs: an old word on the dead stack hides a block
#include <string>

struct Shape {
    virtual ~Shape() = default;
    double area = 1.5;
};

struct Clickable {
    virtual ~Clickable() = default;
    int clicks = 0;
};

struct Button : Shape, Clickable {
    long width = 80;
};

static Clickable *focused;

static void open_window() {
    focused = new Button;                   // forgotten: 1 block, 40 bytes
    Clickable *dropped = new Button;        // lost: 1 block, 40 bytes
    dropped->clicks = 3;
    dropped = nullptr;
    focused->clicks++;
}

int main() {
    open_window();
    return focused->clicks == 1 ? 0 : 1;
}
