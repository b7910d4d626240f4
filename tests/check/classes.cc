// Constructors and destructors, virtual calls, exceptions, smart pointers.
#include <cstdlib>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

class Owner {
public:
    explicit Owner(int size) : data(new char[size]) {}
    ~Owner() { delete[] data; }
    Owner(const Owner &) = delete;
    char *get() { return data; }

private:
    char *data;
};

class Sloppy {
public:
    explicit Sloppy(int size) : data(new char[size]) {} // alloc @sloppy; alloc @sloppyheap
    ~Sloppy() {}

private:
    char *data;
};

void owner_good()
{
    Owner owner(3);
    owner.get()[0] = 1;
}

void owner_on_heap_good()
{
    Owner *owner = new Owner(3);
    delete owner;
}

void owner_on_heap_bad()
{
    Owner *owner = new Owner(3); // alloc @owner
    owner->get()[0] = 1;
} // leak @owner: owner

void sloppy_bad()
{
    Sloppy sloppy(3);
} // leak @sloppy: sloppy.data

void sloppy_on_heap_bad()
{
    Sloppy *sloppy = new Sloppy(3);
    delete sloppy; // leak @sloppyheap: ?
}

// Deleted by its base.
class Base {
public:
    virtual ~Base() {}
    virtual char *make() = 0;
    virtual void release(char *p) { free(p); }
};

class Derived : public Base {
public:
    Derived() : name(strdup("derived")) {}
    ~Derived() override { free(name); }
    char *make() override { return (char *)malloc(3); } // alloc @made

private:
    char *name;
};

void base_good()
{
    Base *base = new Derived;
    delete base;
}

void virtual_good()
{
    Derived derived;
    Base &base = derived;
    char *p = base.make();
    base.release(p);
}

void virtual_bad()
{
    Derived derived;
    Base &base = derived;
    char *p = base.make();
    (void)p;
} // leak @made: p

class PlainBase {
public:
    ~PlainBase() {}
};

class PlainDerived : public PlainBase {
public:
    PlainDerived() : name(strdup("x")) {} // alloc @plain
    ~PlainDerived() { free(name); }

private:
    char *name;
};

void plain_base_bad()
{
    PlainBase *base = new PlainDerived;
    delete base; // leak @plain: ?
}

// Exceptions.
void risky();

// Nothing says that it throws.
void thrown_unknown_silent()
{
    char *p = new char[3];
    risky();
    delete[] p;
}

static void fails(int n)
{
    if (n > 3)
        throw std::runtime_error("too many");
}

void thrown_bad(int n)
{
    char *p = new char[3]; // alloc @thrown
    fails(n); // leak @thrown: p
    delete[] p;
}

void thrown_not_good()
{
    char *p = new char[3];
    fails(2);
    delete[] p;
}

void thrown_good()
{
    std::unique_ptr<char[]> p(new char[3]);
    risky();
}

void caught_good()
{
    char *p = new char[3];
    try {
        risky();
    } catch (...) {
        delete[] p;
        throw;
    }
    delete[] p;
}

void caught_bad()
{
    char *p = new char[3]; // alloc @caught; gap: a return in a handler has the place of the last return
    try {
        risky();
    } catch (const std::exception &) {
        return; // leak @caught: p
    }
    delete[] p;
}

int throws_bad(int n)
{
    int *p = new int[10]; // alloc @throws
    if (n < 0)
        throw std::runtime_error("negative"); // leak @throws: p
    int sum = p[n];
    delete[] p;
    return sum;
}

int throws_good(int n)
{
    if (n < 0)
        throw std::runtime_error("negative");
    int *p = new int[10];
    int sum = p[0];
    delete[] p;
    return sum;
}

// The block of an object whose constructor throws is released by the language.
class Thrower {
public:
    Thrower() { risky(); }
    int x = 0;
};

Thrower *constructor_throws_good()
{
    return new Thrower;
}

// Smart pointers.
std::unique_ptr<Owner> unique_returned_good()
{
    return std::make_unique<Owner>(3);
}

void unique_released_bad()
{
    std::unique_ptr<int> p(new int(3)); // alloc @released
    int *raw = p.release();
    (void)raw;
} // leak @released: raw

void unique_released_good()
{
    std::unique_ptr<int> p(new int(3));
    delete p.release();
}

void unique_moved_good()
{
    auto a = std::make_unique<int>(3);
    auto b = std::move(a);
}

void unique_reset_good()
{
    std::unique_ptr<int> p(new int(3));
    p.reset(new int(4));
}

void shared_good()
{
    std::shared_ptr<Owner> a(new Owner(3));
    std::shared_ptr<Owner> b = a;
}

void shared_made_good()
{
    auto a = std::make_shared<int>(3);
    auto b = a;
}

// new and delete of every kind.
void placement_good()
{
    alignas(Owner) char room[sizeof(Owner)];
    Owner *owner = new (room) Owner(3);
    owner->~Owner();
}

void nothrow_bad()
{
    int *p = new (std::nothrow) int; // alloc @nothrow
    if (p)
        *p = 1;
} // leak @nothrow: p

void nothrow_good()
{
    int *p = new (std::nothrow) int;
    if (!p)
        return;
    delete p;
}

struct alignas(64) Wide {
    char bytes[64];
};

void aligned_bad()
{
    Wide *p = new Wide; // alloc @aligned
    p->bytes[0] = 1;
} // leak @aligned: p

void array_of_objects_good()
{
    std::string *all = new std::string[3];
    delete[] all;
}

void array_of_objects_bad()
{
    std::string *all = new std::string[3]; // alloc @objects
    all[0] = "x";
} // leak @objects: all

// References and lambdas.
static void fill(char *&out)
{
    out = new char[3]; // alloc @reference
}

void reference_good()
{
    char *p;
    fill(p);
    delete[] p;
}

void reference_bad()
{
    char *p;
    fill(p);
} // leak @reference: p

void lambda_good()
{
    char *p = new char[3];
    auto release = [p] { delete[] p; };
    release();
}

void lambda_bad()
{
    char *p = new char[3]; // alloc @lambda
    auto read = [p] { return p[0]; };
    read();
} // leak @lambda: ?

// Assigned over.
class Holder {
public:
    Holder() : data(nullptr) {}
    ~Holder() { delete data; }
    void set_good(int *p)
    {
        delete data;
        data = p;
    }
    void set_bad(int *p) { data = p; } // leak @set: this->data

private:
    int *data;
};

void set_good()
{
    Holder holder;
    holder.set_good(new int(1));
    holder.set_good(new int(2));
}

void set_bad()
{
    Holder holder;
    holder.set_bad(new int(1)); // alloc @set
    holder.set_bad(new int(2));
}

// A constructor that does not come to its end: nobody ends what it made.
struct Halves {
    int *one, *other;
    explicit Halves(int number);
    ~Halves();
};

Halves::Halves(int number)
{
    one = new int(number); // alloc @half
    if (number < 0)
        throw number;
    other = new int(number);
}

Halves::~Halves()
{
    delete one;
    delete other;
}

int halves_bad(int number)
{
    try {
        Halves halves(number);
        return *halves.one;
    } catch (int) { // leak @half: halves.one
        return -1;
    }
}

struct Held {
    std::unique_ptr<int> one;
    explicit Held(int number) : one(new int(number))
    {
        if (number < 0)
            throw number;
    }
};

int held_good(int number)
{
    try {
        Held held(number);
        return *held.one;
    } catch (int) {
        return -1;
    }
}

// Which member it is, the caller says.
struct Ends {
    char *first, *last;
};

static char *end_of(const Ends &ends, char *Ends::*which) { return ends.*which; }

void chosen_good()
{
    Ends ends = {nullptr, new char[10]};
    delete[] end_of(ends, &Ends::last);
}

void chosen_bad()
{
    Ends ends = {nullptr, new char[10]}; // alloc @chosen
    delete[] end_of(ends, &Ends::first);
} // leak @chosen: ends.last

// What is made at its first use is made once.
class Only {
public:
    static Only &get()
    {
        static Only only;
        return only;
    }
    void put(char *text) { held = text; }
    void forget() { held = nullptr; } // leak @only: this->held
    void end()
    {
        delete[] held;
        held = nullptr;
    }

private:
    Only() : held(nullptr) {}
    char *held;
};

void only_bad()
{
    Only::get().put(new char[10]); // alloc @only
    Only::get().forget();
}

void only_good()
{
    Only::get().put(new char[10]);
    Only::get().end();
}

// An early return that destroys something first is the place, not the brace.
class Level {
public:
    explicit Level(int value) : value(value) {}
    ~Level() { value = 0; }
    int value;
};

int return_past_destructors_bad(const char *from, int count)
{
    char *name = strdup(from); // alloc @destructors
    Level level(count);
    if (count > 2) {
        Level next(count + 1);
        return next.value; // leak @destructors: name
    }
    std::free(name);
    return level.value;
}

std::string return_object_bad(const char *from, int count)
{
    char *name = strdup(from); // alloc @returned
    if (count > 2) {
        std::string text(from);
        return text; // leak @returned: name
    }
    std::string text(name);
    std::free(name);
    return text;
}

// What a thread gets is its own to release.
static void use(int *number) { *number = 1; }
static void use_up(int *number) { delete number; }

void thread_good()
{
    std::thread thread(use_up, new int);
    thread.join();
}

void thread_bad()
{
    int *number = new int; // alloc @thread
    std::thread thread(use, number);
    thread.join();
} // leak @thread: number

void thread_of_lambda_good()
{
    int *number = new int;
    std::thread thread([number] { delete number; });
    thread.join();
}

void thread_of_lambda_bad()
{
    int *number = new int; // alloc @lambda-thread
    std::thread thread([number] { *number = 1; });
    thread.join();
} // leak @lambda-thread: ?

// --- what was copied into a larger one

class GrownBad
{
    int *numbers = nullptr;
    unsigned used = 0, room = 0;

public:
    void push(int number)
    {
        if (used == room) {
            room = room ? 2 * room : 4;
            int *larger = new int[room]; // alloc @grown
            for (unsigned at = 0; at < used; at++)
                larger[at] = numbers[at];
            numbers = larger; // leak @grown: this->numbers
        }
        numbers[used++] = number;
    }
    ~GrownBad() { delete[] numbers; }
};

void grown_bad(int count)
{
    GrownBad all;
    for (int at = 0; at < count; at++)
        all.push(at);
}

class GrownGood
{
    int *numbers = nullptr;
    unsigned used = 0, room = 0;

public:
    void push(int number)
    {
        if (used == room) {
            room = room ? 2 * room : 4;
            int *larger = new int[room];
            for (unsigned at = 0; at < used; at++)
                larger[at] = numbers[at];
            delete[] numbers;
            numbers = larger;
        }
        numbers[used++] = number;
    }
    ~GrownGood() { delete[] numbers; }
};

void grown_good(int count)
{
    GrownGood all;
    for (int at = 0; at < count; at++)
        all.push(at);
}
