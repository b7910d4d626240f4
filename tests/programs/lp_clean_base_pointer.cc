// Listeners are known only by their second base, which lies inside the block: held all the time, and deleted through it.
// variants: -O0 -O2
// stdout: 3 ticks, 2 draws
#include <cstdio>
#include <memory>
#include <vector>

struct Drawable {
    virtual ~Drawable() = default;
    virtual int draw() = 0;
    int drawn = 0;
};

struct Ticking {
    virtual ~Ticking() = default;
    virtual int tick() = 0;
    int period = 1;
};

struct Sprite : Drawable, Ticking {
    explicit Sprite(int speed) : speed(speed) {}
    int draw() override { return ++drawn; }
    int tick() override { return x += speed; }
    int speed;
    int x = 0;
    long frames[4] = {};
};

struct Clock : Ticking {
    int tick() override { return ++now; }
    int now = 0;
};

Ticking *hero;
static std::vector<Ticking *> ticking;

static void populate() {
    ticking.push_back(new Sprite(2));
    ticking.push_back(new Clock);
    ticking.push_back(new Sprite(3));
    hero = new Sprite(5);       // forgotten: 1 block, 72 bytes
}

int main() {
    populate();
    int ticks = 0, draws = 0;
    for (Ticking *object : ticking) {
        object->tick();
        ticks++;
        if (auto *drawable = dynamic_cast<Drawable *>(object))
            draws += drawable->draw();
    }
    std::printf("%d ticks, %d draws\n", ticks, draws);
    for (Ticking *object : ticking)
        delete object;
    return hero->tick() == 5 ? 0 : 1;
}
