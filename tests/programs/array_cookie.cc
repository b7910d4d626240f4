// Arrays with a destructor hide their length before the first element, so only an interior pointer exists.
#include <cstring>

struct Session {
    Session() : token(new char[24]) { std::memset(token, 'x', 24); }    // indirect: 3 blocks, 72 bytes; forgotten: 2 blocks, 48 bytes
    ~Session() { delete[] token; }
    char *token;
};

static Session *active;

static void abandon_sessions() {
    Session *pending = new Session[3];    // lost: 1 block, 32 bytes
    pending[0].token[0] = 'y';
    pending = nullptr;
}

int main() {
    delete[] new Session[4];
    abandon_sessions();
    active = new Session[2];              // forgotten: 1 block, 24 bytes
    return 0;
}
