// A hand-written copy assignment overwrites the text that the left side owned.
// valgrind-variable -O2: differs: gcc inlines operator=, where this is main's label
// stdout: north, east, east
#include <cstdio>
#include <cstring>

static char *duplicate(const char *text) {
    std::size_t size = std::strlen(text) + 1;
    char *copy = new char[size];                 // lost: 1 block, 6 bytes
    std::memcpy(copy, text, size);
    return copy;
}

class Label {
public:
    explicit Label(const char *text) : text_(duplicate(text)) {}
    Label(const Label &other) : text_(duplicate(other.text_)) {}
    Label &operator=(const Label &other) {
        if (this != &other)
            text_ = duplicate(other.text_);      // leaks: overwritten this->text_
        return *this;
    }
    ~Label() { delete[] text_; }

    char initial() const {
        return text_[0];                         // last used
    }
    const char *text() const { return text_; }

private:
    char *text_;
};

int main() {
    Label labels[] = {Label("north"), Label("east"), Label("south")};
    for (Label &label : labels) {
        if (label.initial() == 's')
            label = labels[1];
    }
    std::printf("%s, %s, %s\n", labels[0].text(), labels[1].text(), labels[2].text());
    return 0;
}
