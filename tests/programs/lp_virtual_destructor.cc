// delete through a base with a virtual destructor: the derived class forgets a member, and the delete is the place.
// stdout: 8 words in 2 documents
#include <cstdio>
#include <cstring>

class Document {
public:
    virtual ~Document() = default;
    virtual int words() const = 0;
};

class Memo : public Document {
public:
    explicit Memo(const char *body) : body_(new char[std::strlen(body) + 1]) {
        std::strcpy(body_, body);
    }
    ~Memo() override { delete[] body_; }

    int words() const override { return count(body_); }

protected:
    static int count(const char *text) {
        int words = 1;
        for (; *text; text++)
            words += *text == ' ';
        return words;
    }

private:
    char *body_;
};

class Letter : public Memo {
public:
    Letter(const char *to, const char *body)
        : Memo(body),
          address_(new char[48]) {           // lost: 1 block, 48 bytes
        std::snprintf(address_, 48, "Dear %s,", to);
    }

    int words() const override {
        return Memo::words() +
               (address_[0] ? 2 : 0);        // last used
    }

private:
    char *address_;
};

static int archive(Document *document) {
    int words = document->words();
    delete document;                         // leaks: holder-freed ?
    return words;
}

int main() {
    int words = archive(new Memo("meet at noon"));
    words += archive(new Letter("Ada", "bring the cards"));
    std::printf("%d words in 2 documents\n", words);
    return 0;
}
