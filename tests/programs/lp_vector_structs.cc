// A lexer hands out tokens from the end of a vector of structures: their texts are the taker's, who drops one; what is left goes with clear().
// valgrind -O2: differs: a vector leaves what it drops in its buffer, until that is written over or freed
// stdout: gamma
// stdout: 2 left
#include <cstdio>
#include <string>
#include <vector>

struct Token {
    std::string *text;
    int line;
};

class Lexer {
public:
    void add(const char *text) {
        tokens_.push_back(Token{new std::string(text), ++line_});    // lost @taken: 1 block, 32 bytes; lost @left: 2 blocks, 64 bytes
    }
    Token take() {
        Token token = tokens_.back();
        tokens_.pop_back();
        return token;
    }
    void reset() {
        tokens_.clear();                                             // leaks @left: holder-freed this->tokens_
        line_ = 0;
    }
    std::size_t size() const { return tokens_.size(); }

private:
    std::vector<Token> tokens_;
    int line_ = 0;
};

static void print_last(Lexer &lexer) {
    Token token = lexer.take();
    std::printf("%s\n", token.text->c_str());                        // last used @taken
}                                                                    // leaks @taken: scope-end token.text

int main() {
    Lexer lexer;
    lexer.add("alpha");
    lexer.add("beta");
    lexer.add("gamma");
    print_last(lexer);
    std::printf("%zu left\n", lexer.size());
    lexer.reset();
    lexer.add("again");
    delete lexer.take().text;
    return 0;
}
