// An exception passes through several frames; the raw buffer in one of them is lost, what has a destructor is not.
#include <stdexcept>
#include <string>
#include <vector>

struct Parser {
    std::vector<std::string> tokens;

    int expect_number(const std::string &token) {
        tokens.push_back(token + " as read from the settings file");
        if (token.find_first_not_of("0123456789") != std::string::npos)
            throw std::runtime_error("a number was expected, found " + token);
        return std::stoi(token);
    }

    int parse_size(const std::string &token) { return 2 * expect_number(token); }

    int parse_setting(const std::string &token) {
        char *scratch = new char[200];    // lost: 2 blocks, 400 bytes
        scratch[0] = token[0];
        int value = parse_size(token);
        delete[] scratch;
        return value;
    }
};

int main() {
    int failures = 0;
    for (const char *token : {"12", "x1", "77", "-", "9"}) {
        try {
            Parser().parse_setting(token);
        } catch (const std::exception &) {
            failures++;
        }
    }
    return failures == 2 ? 0 : 1;
}
