// Three kinds of strings: the library's, short and long, and one that is shared until written, with its count before the characters.
// variants: -O0 -O2
// stdout: a short one, a text that is too long for the small buffer, SHARED
#include <cctype>
#include <cstdio>
#include <cstring>
#include <new>
#include <string>
#include <utility>
#include <vector>

// Holds a pointer to the characters only; the count lies before them.
class SharedText {
public:
    explicit SharedText(const char *text) : text_(make(text)) {}
    SharedText(const SharedText &other) : text_(other.text_) { ++count(); }
    SharedText &operator=(SharedText other) {
        std::swap(text_, other.text_);
        return *this;
    }
    ~SharedText() {
        if (--count() == 0)
            ::operator delete(text_ - sizeof(long));
    }
    void to_upper() {
        if (count() > 1) {
            --count();
            text_ = make(text_);
        }
        for (char *at = text_; *at; at++)
            *at = static_cast<char>(std::toupper(static_cast<unsigned char>(*at)));
    }
    const char *text() const { return text_; }

private:
    static char *make(const char *text) {
        char *block = static_cast<char *>(::operator new(sizeof(long) + std::strlen(text) + 1));    // forgotten: 1 block, 15 bytes
        new (block) long(1);
        return std::strcpy(block + sizeof(long), text);
    }
    long &count() { return *reinterpret_cast<long *>(text_ - sizeof(long)); }

    char *text_;
};

alignas(SharedText) unsigned char motto[sizeof(SharedText)];

int main() {
    new (motto) SharedText("onward");    // lives until the process is gone
    SharedText lower("shared"), upper = lower, again("other");
    again = upper;
    upper.to_upper();

    std::vector<std::string> names{"a short one", "a text that is too long for the small buffer"};
    names.push_back(std::move(names[0]));
    names.push_back(names[1]);
    names.erase(names.begin());
    std::string moved = std::move(names[0]);
    if (std::strcmp(again.text(), lower.text()) != 0 || names.back() != moved)
        return 1;
    std::printf("%s, %s, %s\n", names[1].c_str(), moved.c_str(), upper.text());
    return 0;
}
