// What objects own that are found by their bases.

#include <cstdlib>
#include <cstring>

class Listener {
public:
    virtual ~Listener() {}
    virtual int hear(int number) = 0;
    char *where = nullptr;
};

class Forgetful : public Listener {
    char *prefix;

public:
    explicit Forgetful(const char *text) : prefix(strdup(text)) {} // alloc @prefix
    ~Forgetful() override {} // leak @prefix: this->prefix
    int hear(int number) override { return prefix[number]; }
};

class Careful : public Listener {
    char *suffix;

public:
    explicit Careful(const char *text) : suffix(strdup(text)) {}
    ~Careful() override { free(suffix); }
    int hear(int number) override { return suffix[number]; }
};

// The base sees to it.
class Kept {
public:
    char *text = nullptr;
    virtual ~Kept() { free(text); }
};

class Named : public Kept {
public:
    explicit Named(const char *name) { text = strdup(name); }
    ~Named() override {}
};

static Listener *listeners[8];
static Kept *kept[8];

static void listen(int at, const char *text)
{
    listeners[at & 7] = at & 1 ? static_cast<Listener *>(new Forgetful(text)) : new Careful(text);
    kept[at & 7] = new Named(text);
}

static void hush(int at)
{
    delete listeners[at & 7];
    delete kept[at & 7];
    listeners[at & 7] = nullptr;
    kept[at & 7] = nullptr;
}

int main(int argc, char **argv)
{
    for (int i = 0; i < argc; i++) {
        listen(i, argv[i]);
        hush(i);
    }
    return 0;
}
