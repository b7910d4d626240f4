// Two numbers and an operator from std::cin.
#include <iostream>
#include <string>

struct Result {
    long value;
    std::string note;
};

static Result *compute(long a, char op, long b)
{
    Result *r = new Result(); // @x MA
    switch (op) {
    case '+': r->value = a + b; break;
    case '-': r->value = a - b; break;
    case '*': r->value = a * b; break;
    case '/':
        if (b == 0)
            return nullptr; // @x LK = must-leak lost
        r->value = a / b;
        break;
    default:
        delete r;
        return nullptr;
    }
    return r;
}

int main()
{
    long a, b;
    char op;
    while (std::cin >> a >> op >> b) {
        if (a < 100 || a > 999)
            break;
        Result *r = compute(a, op, b);
        if (!r)
            return 1;
        std::cout << r->value << "\n";
        delete r;
    }
    return 0;
}
