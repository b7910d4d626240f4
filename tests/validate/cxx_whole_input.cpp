// What reads all input at once, by iterators over a buffer or into a stream in memory, reads what is made up.
// options: --runs 100
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>
#include <string>

int main(int argc, char **argv)
{
    std::string text;
    if (argc > 1) {
        std::ifstream file(argv[1]);
        std::stringstream all;
        all << file.rdbuf();
        text = all.str();
    } else {
        text.assign(std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>());
    }
    char *copy = strdup(text.c_str()); // @file MA; @stdin MA; @kept MA
    if (!copy)
        return 1;
    if (argc > 1 && text.compare(0, 3, "F:7") == 0)
        return 0; // @file LK = must-leak lost
    if (argc == 1 && text.size() > 3 && text[0] == 'k' && text[1] == '=' && text[2] == text[3])
        return 0; // @stdin LK = must-leak lost
    std::cout << copy; // @kept LK = likely-not-leak
    free(copy);
    return 0;
}
