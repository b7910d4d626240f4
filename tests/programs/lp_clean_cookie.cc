// Arrays of objects: the pointer in hand is never the block's start (the length lies before it), and a cursor walks further in.
// variants: -O0 -O2
// stdout: words 8, first swim
#include <cstdio>
#include <cstring>
#include <initializer_list>

class Word {
public:
    Word() : text_(new char[8]()) {}
    ~Word() { delete[] text_; }
    void set(const char *text) { std::strncpy(text_, text, 7); }
    const char *text() const { return text_; }

private:
    char *text_;
};

// Walks backwards: while it runs, the only pointer to the array is into its middle.
class Cursor {
public:
    Cursor(Word *words, int count) : at_(words + count), left_(count) {}
    bool step() {
        if (left_ == 0)
            return false;
        at_--;
        left_--;
        return true;
    }
    Word *at() const { return at_; }

private:
    Word *at_;
    int left_;
};

static Cursor load(int count) {
    Word *words = new Word[static_cast<unsigned>(count)];
    for (int i = 0; i < count; i++)
        words[i].set(i % 2 ? "fly" : "swim");
    return Cursor(words, count);
}

static Word *first_of(Cursor cursor) {
    while (cursor.step()) {
    }
    return cursor.at();
}

int main() {
    int total = 0;
    for (int count : {3, 5}) {
        Word *words = first_of(load(count));
        for (int i = 0; i < count; i++)
            total += words[i].text()[0] != '\0';
        if (count == 5)
            std::printf("words %d, first %s\n", total, words[0].text());
        delete[] words;
    }
    return 0;
}
