// A local vector of raw pointers goes out of scope: it frees its own array, not the tokens.
// valgrind: differs: the vector frees its buffer at the closing brace, after the return statement
// stdout: 42 6
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

struct Token {
    bool number;
    char text[15];
};

static Token *make_token(const char *begin, std::size_t length) {
    Token *token = new Token;             // lost: 8 blocks, 128 bytes
    token->number = std::isdigit(static_cast<unsigned char>(*begin)) != 0;
    std::memcpy(token->text, begin, length);
    token->text[length] = '\0';
    return token;
}

static int evaluate(const char *expression) {
    std::vector<Token *> tokens;
    tokens.reserve(16);
    while (*expression) {
        std::size_t length = std::strspn(expression, "0123456789");
        if (length == 0)
            length = 1;
        tokens.push_back(make_token(expression, length));
        expression += length;
    }

    int sum = 0, sign = 1;
    for (const Token *token : tokens) {
        if (token->number)
            sum += sign * std::atoi(token->text);
        sign = token->text[0] == '-' ? -1 : 1;    // last used
    }
    return sum;                           // leaks: scope-end tokens
}

static void print(int first, int second) {
    char line[1024] = {};
    std::snprintf(line, sizeof line, "%d %d", first, second);
    std::puts(line);
}

int main() {
    int first = evaluate("40+7-5");
    int second = evaluate("1+5");
    print(first, second);
    return 0;
}
