// A class behind a pointer to its implementation, copied, moved, swapped and assigned: every implementation is deleted once.
// variants: -O0 -O2
// stdout: 3 0 4 3
#include <cstdio>
#include <utility>

class Document {
public:
    Document();
    Document(const Document &other);
    Document(Document &&other) noexcept;
    Document &operator=(Document other) noexcept;
    ~Document();

    void add(int paragraph);
    int size() const;

private:
    struct Body;
    Body *body_;
};

struct Document::Body {
    int count = 0;
    int *paragraphs = new int[8]();

    Body() = default;
    Body(const Body &other) : count(other.count) {
        for (int i = 0; i < count; i++)
            paragraphs[i] = other.paragraphs[i];
    }
    Body &operator=(const Body &) = delete;
    ~Body() { delete[] paragraphs; }
};

Document::Document() : body_(new Body) {}
Document::Document(const Document &other) : body_(other.body_ ? new Body(*other.body_) : nullptr) {}
Document::Document(Document &&other) noexcept : body_(other.body_) { other.body_ = nullptr; }
Document &Document::operator=(Document other) noexcept {
    std::swap(body_, other.body_);
    return *this;
}
Document::~Document() { delete body_; }
void Document::add(int paragraph) { body_->paragraphs[body_->count++] = paragraph; }
int Document::size() const { return body_ ? body_->count : 0; }

static Document draft(int paragraphs) {
    Document document;
    for (int i = 0; i < paragraphs; i++)
        document.add(i);
    return document;
}

int main() {
    Document first = draft(3), second = draft(2), third = draft(3);
    Document stolen = std::move(second);
    third.add(7);
    stolen = first;
    std::swap(first, stolen);
    first = Document(first);
    std::printf("%d %d %d %d\n", first.size(), second.size(), third.size(), stolen.size());
    return 0;
}
