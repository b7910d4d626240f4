// A record owns two strings through pointers; its destructor deletes one of them.
// valgrind-variable -O0: differs: g++ keeps the deleted pointer in a register that is no variable
// stdout: Ada, Grace: 2 sent
#include <cstdio>
#include <string>

struct Contact {
    Contact(const char *first, const char *mail)
        : name(new std::string(first)),
          address(new std::string(mail)) {}          // lost: 2 blocks, 64 bytes; indirect: 2 blocks, 68 bytes
    ~Contact() { delete name; }

    std::string *name;
    std::string *address;
};

static int send_card(const Contact *contact) {
    std::size_t at = contact->address->find('@');
    return at == std::string::npos ? 0 : 1;
}

int main() {
    Contact *book[] = {
        new Contact("Ada", "ada.lovelace@analytical.example"),
        new Contact("Grace", "rear.admiral@compilers.navy.example"),
    };
    std::printf("%s, %s: ", book[0]->name->c_str(), book[1]->name->c_str());
    int sent = 0;
    for (Contact *contact : book) {
        sent += send_card(contact);
        delete contact;                              // leaks: holder-freed contact->address
    }
    std::printf("%d sent\n", sent);
    return 0;
}
