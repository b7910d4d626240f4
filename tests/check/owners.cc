// Shared ownership.
#include <cstdlib>
#include <map>
#include <memory>
#include <utility>
#include <vector>

struct Node {
    std::shared_ptr<Node> next;
    std::weak_ptr<Node> before;
    int value = 0;
};

void ring_bad()
{
    auto a = std::make_shared<Node>(); // alloc @a
    auto b = std::make_shared<Node>(); // alloc @b
    a->next = b;
    b->next = a;
} // leak @a: ?; leak @b: ?

void chain_good()
{
    auto a = std::make_shared<Node>();
    auto b = std::make_shared<Node>();
    a->next = b;
    b->before = a;
}

void itself_bad()
{
    auto a = std::make_shared<Node>(); // alloc @itself
    a->next = a;
} // leak @itself: ?

void itself_good()
{
    auto a = std::make_shared<Node>();
    a->next = a;
    a->next.reset();
}

struct Plain {
    char *text = nullptr;
};

struct Full {
    char *text = new char[3];
    ~Full() { delete[] text; }
};

void member_bad()
{
    auto p = std::make_shared<Plain>();
    p->text = new char[3]; // alloc @member
} // leak @member: ?

void member_good()
{
    auto p = std::make_shared<Plain>();
    p->text = new char[3];
    delete[] p->text;
}

void member_of_given_bad()
{
    std::shared_ptr<Plain> p(new Plain);
    std::shared_ptr<Plain> q = p;
    q->text = new char[3]; // alloc @given
} // leak @given: ?

void destroyed_good()
{
    auto p = std::make_shared<Full>();
    std::shared_ptr<Full> q(new Full);
    q = p;
    std::shared_ptr<Full> r = std::move(q);
}

void handle_bad()
{
    auto *handle = new std::shared_ptr<int>(std::make_shared<int>(3)); // alloc @handle
    ++**handle;
} // leak @handle: handle

void handle_good()
{
    auto *handle = new std::shared_ptr<int>(std::make_shared<int>(3));
    ++**handle;
    delete handle;
}

static void read(std::shared_ptr<Plain> p)
{
    p->text[0] = 0;
}

static std::shared_ptr<Plain> made()
{
    auto p = std::make_shared<Plain>();
    p->text = new char[3]; // alloc @made
    return p;
}

void passed_bad()
{
    auto p = made();
    read(p);
} // leak @made: ?

void in_container_good()
{
    std::vector<std::shared_ptr<Plain>> all;
    {
        auto p = std::make_shared<Plain>();
        p->text = new char[3];
        all.push_back(p);
    }
    delete[] all[0]->text;
}

static std::shared_ptr<Plain> kept;

void kept_good()
{
    auto p = std::make_shared<Plain>();
    p->text = new char[3];
    kept = p;
}

void deleter_good()
{
    std::shared_ptr<char> p(static_cast<char *>(malloc(10)), free);
}

void released_bad()
{
    auto p = std::make_unique<Full>(); // alloc @released
    p.release(); // leak @released: ?
}

struct Base {
    virtual ~Base() {}
};

struct Derived : Base {
    char *text;
    explicit Derived(char *given) : text(given) {}
    ~Derived() override { delete[] text; }
};

struct Forgetful : Base { // leak @forgetful: ?
    char *text;
    explicit Forgetful(char *given) : text(given) {}
};

static std::unique_ptr<Base> derived()
{
    return std::unique_ptr<Base>(new Derived(new char[3]));
}

static std::unique_ptr<Base> forgetful()
{
    return std::unique_ptr<Base>(new Forgetful(new char[3])); // alloc @forgetful
}

void of_class_good()
{
    auto p = derived();
}

void of_class_bad()
{
    auto p = forgetful();
}

// A shared pointer that is made to lead to nothing gives up its object.
struct Unowned {
    char *text;
    explicit Unowned(char *given) : text(given) {}
};
struct Owned {
    char *text;
    explicit Owned(char *given) : text(given) {}
    ~Owned() { delete[] text; }
};

void reset_good()
{
    auto one = std::make_shared<Owned>(new char[3]);
    auto other = one;
    one.reset();
}

void reset_bad()
{
    auto one = std::make_shared<Unowned>(new char[3]); // alloc @reset
    auto other = one;
    one.reset();
} // leak @reset: ?

// Pointers that own, as elements: what they own ends with the container.
void elements_good(int count)
{
    std::vector<std::unique_ptr<Owned>> all;
    for (int i = 0; i < count; i++)
        all.push_back(std::make_unique<Owned>(new char[3]));
    all.pop_back();
    all.emplace_back(new Owned(new char[3]));
}

void elements_bad()
{
    std::vector<std::unique_ptr<Unowned>> all;
    all.emplace_back(new Unowned(new char[3])); // alloc @elements
} // leak @elements: ?

void elements_emptied_good()
{
    std::vector<std::unique_ptr<Unowned>> all;
    all.push_back(std::make_unique<Unowned>(new char[3]));
    for (auto &one : all)
        delete[] one->text;
    all.clear();
}

void values_good()
{
    std::map<int, std::unique_ptr<Owned>> all;
    all[1] = std::make_unique<Owned>(new char[3]);
}

void values_bad()
{
    std::map<int, std::unique_ptr<Unowned>> all;
    all[1] = std::make_unique<Unowned>(new char[3]); // alloc @values
} // leak @values: ?

void shared_elements_good()
{
    std::vector<std::shared_ptr<Owned>> all;
    auto one = std::make_shared<Owned>(new char[3]);
    all.push_back(one);
    all.push_back(std::make_shared<Owned>(new char[3]));
}

void shared_elements_bad()
{
    std::vector<std::shared_ptr<Unowned>> all;
    auto one = std::make_shared<Unowned>(new char[3]); // alloc @shared-elements
    all.push_back(one);
} // leak @shared-elements: ?

struct Parent;
struct Child {
    std::shared_ptr<Parent> up;
};
struct WeakChild;
struct Parent {
    std::vector<std::shared_ptr<Child>> children;
};
struct WeakParent {
    std::vector<std::shared_ptr<WeakChild>> children;
};
struct WeakChild {
    std::weak_ptr<WeakParent> up;
};

void ring_of_children_good()
{
    auto parent = std::make_shared<WeakParent>();
    auto child = std::make_shared<WeakChild>();
    parent->children.push_back(child);
    child->up = parent;
}

void ring_of_children_bad()
{
    auto parent = std::make_shared<Parent>(); // alloc @ring-of-children
    auto child = std::make_shared<Child>(); // alloc @ring-child
    parent->children.push_back(child);
    child->up = parent;
} // leak @ring-of-children: ?; leak @ring-child: ?
