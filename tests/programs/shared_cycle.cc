// Two shared_ptr owners that hold each other: a cycle that counting never frees; the weak_ptr twin is clean.
// lsan: differs: an old word on the dead stack hides the cycle
#include <memory>

struct Widget {
    std::shared_ptr<Widget> parent;
    std::weak_ptr<Widget> observer;
    long style[4] = {};
};

static void build_dialog(bool owning) {
    std::shared_ptr<Widget> pair[2];
    for (auto &widget : pair)
        widget = std::make_shared<Widget>();    // lost: 1 block, 80 bytes; indirect: 1 block, 80 bytes
    if (owning) {
        pair[0]->parent = pair[1];
        pair[1]->parent = pair[0];
    } else {
        pair[0]->observer = pair[1];
        pair[1]->observer = pair[0];
    }
}

int main() {
    build_dialog(false);
    build_dialog(true);
    return 0;
}
