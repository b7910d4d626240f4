// Pointers in the containers of the standard library.
#include <queue>
#include <cstdlib>
#include <array>
#include <cstring>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stack>
#include <string>
#include <unordered_map>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

void vector_good(int count)
{
    std::vector<char *> all;
    for (int i = 0; i < count; i++)
        all.push_back(new char[3]);
    for (char *p : all)
        delete[] p;
}

void vector_bad()
{
    std::vector<char *> all;
    all.push_back(new char[3]); // alloc @vector
} // leak @vector: ?

std::vector<int *> vector_returned_good()
{
    std::vector<int *> all;
    all.push_back(new int);
    return all;
}

void vector_kept_good(std::vector<int *> &all)
{
    all.push_back(new int);
}

void vector_of_owners_good()
{
    std::vector<std::unique_ptr<int>> all;
    all.push_back(std::make_unique<int>(3));
    all.emplace_back(new int(4));
}

void vector_of_strings_good()
{
    std::vector<std::string> all;
    all.push_back("one");
    all.emplace_back(100, 'x');
}

void list_good()
{
    std::list<char *> all;
    all.push_back(strdup("x"));
    free(all.front());
}

void list_bad()
{
    std::list<char *> all;
    all.push_back(strdup("x")); // alloc @list
} // leak @list: ?

void map_good()
{
    std::map<int, char *> all;
    all[1] = strdup("x");
    free(all[1]);
}

void map_bad()
{
    std::map<int, char *> all;
    all[1] = strdup("x"); // alloc @map
} // leak @map: ?

void map_kept_good(std::map<std::string, char *> &all)
{
    all["x"] = strdup("x");
}

void map_of_objects_good()
{
    std::map<std::string, std::vector<int>> all;
    all["x"].push_back(1);
}

void unordered_good()
{
    std::unordered_map<int, std::string> all;
    all[1] = "one";
}

void set_kept_good(std::set<int *> &all)
{
    all.insert(new int);
}

void deque_kept_good(std::deque<int *> &all)
{
    all.push_back(new int);
}

void array_good()
{
    std::array<int *, 2> all = {new int, new int};
    delete all[0];
    delete all[1];
}

void array_bad()
{
    std::array<int *, 2> all = {new int, nullptr}; // alloc @array
    all[1] = all[0];
} // leak @array: ?

void string_good()
{
    std::string text = "a long text that does not fit into the object itself";
    text += " and more";
    std::string other = text;
}

struct record {
    char *name;
    int number;
};

void records_bad()
{
    std::vector<record> all;
    record one;
    one.name = strdup("x"); // alloc @records
    one.number = 1;
    all.push_back(one);
} // leak @records: ?

void records_good()
{
    std::vector<record> all;
    record one;
    one.name = strdup("x");
    one.number = 1;
    all.push_back(one);
    free(all[0].name);
}

void found_good()
{
    std::map<std::string, int *> all;
    all["a"] = new int;
    auto one = all.find("a");
    if (one != all.end()) {
        delete one->second;
        all.erase(one);
    }
}

void queue_good()
{
    std::queue<char *> all;
    all.push(new char[3]);
    char *first = all.front();
    all.pop();
    delete[] first;
}

void queue_bad()
{
    std::queue<char *> all;
    all.push(new char[3]); // alloc @queue
    all.pop(); // leak @queue: ?
}

// A pair releases what its members release.

void pairs_good()
{
    std::vector<std::pair<std::string, int *>> all;
    all.push_back(std::make_pair("a", new int));
    for (auto &one : all)
        delete one.second;
}

void pairs_bad()
{
    std::vector<std::pair<int, int *>> all;
    all.push_back(std::make_pair(1, new int)); // alloc @pairs
} // leak @pairs: ?

void owners_good()
{
    std::vector<std::pair<int, std::unique_ptr<int>>> all;
    all.push_back(std::make_pair(1, std::unique_ptr<int>(new int)));
}

// Containers in containers.

void nested_good()
{
    std::vector<std::vector<int *>> rows;
    std::vector<int *> row;
    row.push_back(new int);
    rows.push_back(row);
    for (auto &one : rows)
        for (int *p : one)
            delete p;
}

void nested_bad()
{
    std::vector<std::vector<int *>> rows;
    std::vector<int *> row;
    row.push_back(new int); // alloc @nested
    rows.push_back(row);
} // leak @nested: ?

void nested_taken_good(std::vector<std::vector<int *>> &rows)
{
    std::vector<int *> row(1, new int);
    rows.push_back(row);
}

void nested_owners_good()
{
    std::vector<std::vector<std::unique_ptr<int>>> rows(1);
    rows[0].push_back(std::unique_ptr<int>(new int));
}

// The one element that there is.

static std::vector<char *> kept;

void taken_out_good()
{
    kept.push_back(new char[3]);
    char *last = kept.back();
    kept.pop_back();
    delete[] last;
}

void taken_out_bad()
{
    kept.push_back(new char[3]); // alloc @taken
    char *last = kept.back();
    kept.pop_back();
    last[0] = 0;
} // leak @taken: last

void several_left_good(char *given)
{
    kept.push_back(given);
    kept.push_back(new char[3]);
    kept.pop_back();
}

// Elements of a variable of the program that another function lets go.

static std::vector<char *> shown, hidden;

static void hide()
{
    hidden.clear();
}

static void end_shown()
{
    for (char *p : shown)
        delete[] p;
    shown.clear();
}

void cleared_elsewhere_good()
{
    shown.push_back(new char[3]);
    end_shown();
}

void cleared_elsewhere_bad()
{
    hidden.push_back(new char[3]); // alloc @hidden
    hide(); // leak @hidden: ?
}

class Bag {
public:
    void add(char *p) { items.push_back(p); }
    ~Bag()
    {
        for (char *p : items)
            delete[] p;
    }

private:
    std::vector<char *> items;
};

void bag_good()
{
    Bag bag;
    bag.add(new char[3]);
    auto *other = new Bag;
    other->add(new char[3]);
    delete other;
}

void pointers_to_containers_good()
{
    std::stack<std::vector<int> *> all;
    all.push(new std::vector<int>(3));
    auto *one = all.top();
    all.pop();
    delete one;
}

struct Shape {
    virtual ~Shape() {}
};
static std::vector<Shape *> shapes;

static void shapes_end()
{
    delete shapes[0];
    shapes.clear();
}

void shapes_good()
{
    shapes.push_back(new Shape);
    shapes_end();
}

// What one function puts into a container of the program's, another takes out.
static std::deque<char *> waiting, served;
static std::vector<char *> piled;
static std::map<int, char *> numbered;
static std::list<char *> listed;

static void served_drop()
{
    served.pop_front();
}

void served_bad()
{
    served.push_back(new char[3]); // alloc @served
    served_drop(); // leak @served: ?
}

static void waiting_serve()
{
    if (waiting.empty())
        return;
    char *first = waiting.front();
    waiting.pop_front();
    delete[] first;
}

void waiting_good()
{
    waiting.push_back(new char[3]);
    waiting_serve();
}

static char *piled_take()
{
    char *last = piled.back();
    piled.pop_back();
    return last;
}

void piled_good()
{
    piled.push_back(new char[3]);
    delete[] piled_take();
}

void piled_bad()
{
    piled.push_back(new char[3]); // alloc @piled
    piled_take(); // leak @piled
}

void numbered_good()
{
    numbered[4] = new char[3];
    delete[] numbered[4];
    numbered.erase(4);
}

void numbered_bad()
{
    numbered[4] = new char[3]; // alloc @numbered
    numbered.erase(4);
} // leak @numbered: ?

static void listed_take(bool frees)
{
    char *first = listed.front();
    if (frees)
        delete[] first;
    listed.pop_front();
}

void listed_good()
{
    listed.push_back(new char[3]);
    listed_take(true);
}

void listed_bad()
{
    listed.push_back(new char[3]); // alloc @listed
    listed_take(false); // leak @listed: ?
}

void drained_good()
{
    waiting.push_back(new char[3]);
    while (!waiting.empty()) {
        char *first = waiting.front();
        waiting.pop_front();
        delete[] first;
    }
}

void deque_loop_good()
{
    std::deque<char *> all;
    all.push_back(new char[3]);
    for (char *one : all)
        delete[] one;
}

void deque_loop_bad()
{
    std::deque<char *> all;
    all.push_back(new char[3]); // alloc @deque_loop
    for (char *one : all)
        one[0] = 0;
} // leak @deque_loop: ?

// What ends in a loop by its class is not lost where the loop finds nothing.
struct Slot {
    Shape *shape = nullptr;
    ~Slot()
    {
        if (shape != nullptr)
            delete shape;
    }
};

void slots_good()
{
    auto *slots = new Slot[3];
    slots[1].shape = new Shape;
    delete[] slots;
}

// An optional descriptor: two numbers in one word.
static std::optional<int> opened(bool wanted)
{
    if (!wanted)
        return std::nullopt;
    int fd = open("/a", O_RDONLY); // alloc @optional
    if (fd < 0)
        return std::nullopt;
    return fd;
}

void optional_good()
{
    auto fd = opened(true);
    if (fd)
        close(*fd);
}

void optional_bad()
{
    auto fd = opened(true);
    if (fd)
        lseek(*fd, 3, SEEK_SET);
} // leak @optional: fd

// What is there already is not put in again, and its place says whether.
static std::set<int *> registered;

void refused_good()
{
    int *number = new int;
    if (!registered.insert(number).second)
        delete number;
}

void refused_bad()
{
    int *number = new int; // alloc @refused
    if (!registered.insert(number).second)
        puts("twice");
} // leak @refused: number

void placed_good(int key)
{
    std::map<int, int *> all;
    int *number = new int;
    auto [place, is_new] = all.emplace(key, number);
    if (!is_new) {
        delete number;
        return;
    }
    delete place->second;
}

void not_asked_good(int key)
{
    static std::map<int, int *> all;
    all.insert({key, new int});
}

// A class that grows, by numbers that its user knows.
class Numbers {
    int *numbers = new int[2]; // alloc @grown
    int count = 0, room = 2;

public:
    ~Numbers() { delete[] numbers; }
    void add_bad(int number)
    {
        if (count == room) {
            int *more = new int[room * 2];
            std::memcpy(more, numbers, count * sizeof(int));
            numbers = more; // leak @grown: this->numbers
            room *= 2;
        }
        numbers[count++] = number;
    }
    void add_good(int number)
    {
        if (count == room) {
            int *more = new int[room * 2];
            std::memcpy(more, numbers, count * sizeof(int));
            delete[] numbers;
            numbers = more;
            room *= 2;
        }
        numbers[count++] = number;
    }
};

void grown_good()
{
    Numbers all;
    all.add_good(1);
    all.add_good(2);
    all.add_good(3);
}

void grown_bad()
{
    Numbers all;
    all.add_bad(1);
    all.add_bad(2);
    all.add_bad(3);
}

static bool add(int key, int *number)
{
    static std::map<int, int *> all;
    return all.insert({key, number}).second;
}

void refused_elsewhere_good(int key)
{
    int *number = new int;
    if (!add(key, number))
        delete number;
}

void refused_elsewhere_bad(int key)
{
    int *number = new int; // alloc @elsewhere
    if (!add(key, number))
        return; // leak @elsewhere: number
}

// Elements with a destructor: the library ends them buffer by buffer, by functions that are given no container.
struct token {
    std::string text;
    int kind;
};

void deque_of_objects_good()
{
    std::deque<token> all;
    all.push_back(token{"a", 1});
    all.pop_front();
}

void deque_of_objects_bad()
{
    std::deque<token> all;
    char *name = strdup("a"); // alloc @deque_of_objects
    all.push_back(token{name, 1});
    all.clear();
} // leak @deque_of_objects: name
