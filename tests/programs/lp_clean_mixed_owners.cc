// Clean: owners of many kinds that change hands: unique_ptr in containers, moves, optional, shared with weak back links, function.
// stdout: 13
#include <cstdio>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

struct Parent;
struct Child {
    std::weak_ptr<Parent> parent;
    std::unique_ptr<int[]> data = std::make_unique<int[]>(4);
};
struct Parent {
    std::vector<std::shared_ptr<Child>> children;
    std::optional<std::string> label;
    std::map<std::string, std::unique_ptr<Child>> named;
};

static std::shared_ptr<Parent> build() {
    auto parent = std::make_shared<Parent>();
    for (int i = 0; i < 3; i++) {
        auto child = std::make_shared<Child>();
        child->parent = parent;
        parent->children.push_back(std::move(child));
    }
    parent->label = std::string(40, 'x');
    parent->label.reset();
    parent->label.emplace(50, 'y');
    parent->named["a"] = std::make_unique<Child>();
    parent->named["a"] = std::make_unique<Child>();
    return parent;
}

int main() {
    auto p = build();
    std::variant<int, std::string, std::vector<int>> v = std::string(60, 'z');
    v = std::vector<int>{1, 2, 3};
    std::function<int()> f = [p, v] { return static_cast<int>(p->children.size() + std::get<2>(v).size()); };
    std::function<int()> g = std::move(f);
    std::unordered_map<std::string, std::list<std::string>> lists;
    lists["k"].push_back(std::string(30, 'q'));
    lists["k"].splice(lists["k"].begin(), std::list<std::string>{"one", std::string(33, 'w')});
    std::set<std::string> names{"a", std::string(35, 'b')};
    auto node = names.extract("a");
    int r = g() + static_cast<int>(lists["k"].size() + names.size() + node.value().size());
    p.reset();
    std::printf("%d\n", r + 2);
    return 0;
}
