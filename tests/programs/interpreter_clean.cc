// A small expression interpreter with exceptions, unique_ptr trees and virtual destructors: nothing is left.
// stdout: 14 error
#include <cctype>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>

struct Expression {
    virtual ~Expression() = default;
    virtual long value() const = 0;
};

struct Number final : Expression {
    explicit Number(long n) : n(n) {}
    long value() const override { return n; }
    long n;
};

struct Binary final : Expression {
    Binary(char op, std::unique_ptr<Expression> l, std::unique_ptr<Expression> r)
        : op(op), left(std::move(l)), right(std::move(r)) {}
    long value() const override { return op == '+' ? left->value() + right->value() : left->value() * right->value(); }
    char op;
    std::unique_ptr<Expression> left, right;
};

class Parser {
  public:
    explicit Parser(std::string text) : text(std::move(text)) {}
    std::unique_ptr<Expression> sum() { return chain('+', &Parser::product); }

  private:
    using Rule = std::unique_ptr<Expression> (Parser::*)();
    std::unique_ptr<Expression> product() { return chain('*', &Parser::number); }
    std::unique_ptr<Expression> chain(char op, Rule rule) {
        auto left = (this->*rule)();
        while (at < text.size() && text[at] == op) {
            at++;
            left = std::make_unique<Binary>(op, std::move(left), (this->*rule)());
        }
        return left;
    }
    std::unique_ptr<Expression> number() {
        std::size_t start = at;
        while (at < text.size() && std::isdigit(static_cast<unsigned char>(text[at])))
            at++;
        if (start == at)
            throw std::invalid_argument("a number was expected at the end of " + text);
        return std::make_unique<Number>(std::stol(text.substr(start, at - start)));
    }
    std::string text;
    std::size_t at = 0;
};

static std::string evaluate(const std::string &text) {
    try {
        return std::to_string(Parser(text).sum()->value());
    } catch (const std::invalid_argument &) {
        return "error";
    }
}

int main() {
    std::printf("%s %s\n", evaluate("2+3*4").c_str(), evaluate("2+3*").c_str());
    return 0;
}
