// A parser that throws while a raw pointer is held.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

static int number(const char *s)
{
    int v = 0;
    while (*s) {
        if (*s < '0' || *s > '9')
            throw std::invalid_argument("not a number");
        v = v * 10 + (*s++ - '0');
        if (v > 5000)
            throw std::out_of_range("too large");
    }
    return v;
}

static int handle(const char *key, const char *text)
{
    char *copy = new char[strlen(text) + 1]; // @x MA
    strcpy(copy, text);
    int v = 0;
    if (!strcmp(key, "size"))
        v = number(copy); // @x LK = must-leak lost
    delete[] copy;
    return v;
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    try {
        return handle(argv[1], argv[2]) & 1;
    } catch (const std::out_of_range &) {
        return 3;
    } catch (const std::exception &) {
        std::exit(4);
    }
}
