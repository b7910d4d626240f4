// An intrusive smart pointer: nodes are born with one reference, adopt() takes it over, but one caller lets the pointer add
// options: --explain
// valgrind -O2: differs: gcc inlines it all, and in registers: a function stands for the variables that it has there
// another. At the end that node is counted with 1 reference and has 0 holders. The pointers that die later each drop
// their own reference: the one that nobody owned was lost where the pointer was made.
// stdout: 3 styles, widest 30
#include <algorithm>
#include <cstdio>
#include <utility>
#include <vector>

class Style {
public:
    explicit Style(int width) : width_(width) {}
    int width() const { return width_; }

private:
    template <class T> friend class Ref;
    mutable int references_ = 1;
    int width_;
};

template <class T> class Ref {
public:
    explicit Ref(T *object) : object_(object) { object_->references_++; }
    static Ref adopt(T *object) {
        Ref ref;
        ref.object_ = object;
        return ref;
    }
    Ref(const Ref &other) : object_(other.object_) { object_->references_++; }
    Ref(Ref &&other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
    Ref &operator=(Ref other) noexcept {
        std::swap(object_, other.object_);
        return *this;
    }
    ~Ref() {
        if (object_ != nullptr && --object_->references_ == 0)
            delete object_;
    }
    T *operator->() const { return object_; }

private:
    Ref() = default;
    T *object_ = nullptr;
};

static Ref<Style> plain(int width) {
    return Ref<Style>::adopt(new Style(width));
}

static Ref<Style> heading(int width) {
    return Ref<Style>(new Style(width));    // lost: 1 block, 8 bytes; leaks: discarded ?
}

int main() {
    std::vector<Ref<Style>> sheet;
    sheet.push_back(plain(10));
    sheet.push_back(heading(30));
    sheet.push_back(plain(20));
    std::vector<Ref<Style>> copy = sheet;
    int widest = 0;
    for (const Ref<Style> &style : copy)
        widest = std::max(widest, style->width());
    std::printf("%zu styles, widest %d\n", copy.size(), widest);
    return 0;
}
