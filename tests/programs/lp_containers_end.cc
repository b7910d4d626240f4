// Containers of raw pointers end with their functions, and what they point to is nobody's then.
// valgrind: differs: containers free their memory at the closing brace, after the return statement
// stdout: 8
#include <cstdio>
#include <deque>
#include <list>
#include <map>
#include <string>
#include <unordered_map>

struct Node {
    int value;
};

static int in_map() {
    std::map<std::string, Node *> nodes;
    nodes["a"] = new Node{1};                              // lost @map: 1 block, 4 bytes
    int sum = 0;
    for (auto &[name, node] : nodes)
        sum += node->value;                                // last used @map
    return sum;                                            // leaks @map: scope-end nodes
}

static int in_unordered() {
    std::unordered_map<int, Node *> nodes;
    nodes[7] = new Node{2};                                // lost @unordered: 1 block, 4 bytes
    return nodes[7]->value;                                // last used @unordered; leaks @unordered: scope-end nodes
}

static int in_deque() {
    std::deque<Node *> nodes;
    nodes.push_front(new Node{3});                         // lost @deque: 1 block, 4 bytes
    return nodes.front()->value;                           // last used @deque; leaks @deque: scope-end nodes
}

static int in_list() {
    std::list<Node *> nodes;
    nodes.push_back(new Node{1});                          // lost @popped: 1 block, 4 bytes; last used @popped
    nodes.push_back(new Node{2});                          // lost @list: 1 block, 4 bytes
    nodes.pop_front();                                     // leaks @popped: holder-freed nodes
    return nodes.front()->value;                           // last used @list; leaks @list: scope-end nodes
}

int main() {
    std::printf("%d\n", in_map() + in_unordered() + in_deque() + in_list());
    return 0;
}
