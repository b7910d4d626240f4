// The base class allocates a default title; a derived constructor puts its own in the inherited member without deleting it.
// stdout: untitled | Save | Open
#include <cstdio>
#include <cstring>

class Widget {
public:
    Widget() : title_(new char[16]) {            // lost: 2 blocks, 32 bytes
        std::strcpy(title_, "untitled");         // last used
    }
    virtual ~Widget() { delete[] title_; }
    const char *title() const { return title_; }

protected:
    char *title_;
};

class Panel : public Widget {
public:
    int columns = 2;
};

class Button : public Widget {
public:
    explicit Button(const char *title) {
        std::size_t size = std::strlen(title) + 1;
        title_ = new char[size];                 // leaks: overwritten this->title_
        std::memcpy(title_, title, size);
    }
};

int main() {
    Panel panel;
    Button save("Save"), open("Open");
    const Widget *widgets[] = {&panel, &save, &open};
    for (const Widget *widget : widgets)
        std::printf("%s%s", widget->title(), widget == &open ? "\n" : " | ");
    return 0;
}
