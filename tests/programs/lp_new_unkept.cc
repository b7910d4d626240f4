// An object is made for what its constructor does, another for one call; the call returns the object, and nobody keeps either.
// valgrind -O2: differs: gcc inlines all of it, and drops the pointers before the statements end
// stdout: Q:select Q:insert 2 made
#include <cstdio>
#include <cstring>

struct Query {
    char sql[32];
    bool sent = false;
    explicit Query(const char *s) {
        std::strncpy(sql, s, sizeof sql - 1);
        sql[sizeof sql - 1] = 0;
    }
    Query &send() {
        sent = true;
        std::printf("Q:%s ", sql);
        return *this;
    }
};

static int made;

static Query *query(const char *sql) {
    made++;
    return new Query(sql);    // lost @select: 1 block, 33 bytes
}

struct Audit {
    static int count;
    char *volatile line;    // stored even though nobody reads it
    explicit Audit(const char *what) : line(new char[std::strlen(what) + 1]) {    // indirect @note: 1 block, 5 bytes
        std::strcpy(line, what);
        count++;
    }
    ~Audit() { delete[] line; }
};
int Audit::count;

static void insert() {
    Query q("insert");
    q.send();
    new Audit("note");    // lost @audit: 1 block, 8 bytes; leaks @audit: discarded; leaks @note: discarded
}

int main() {
    query("select")->send();    // leaks @select: discarded
    insert();
    std::printf("%d made\n", made + Audit::count);
    return 0;
}
