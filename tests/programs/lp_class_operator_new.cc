// A class with its own operator new and delete, which count; a failed insertion forgets the node.
// stdout: 4 stored, 6 alive
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <new>

struct Node {
    explicit Node(int key) : key(key) {}

    static void *operator new(std::size_t size) {
        void *memory = std::malloc(size);    // lost: 2 blocks, 48 bytes
        if (memory == nullptr)
            throw std::bad_alloc();
        alive++;
        return memory;
    }
    static void operator delete(void *memory) {
        alive--;
        std::free(memory);                   // frees: 4 blocks
    }

    int key;
    Node *left = nullptr;
    Node *right = nullptr;
    static int alive;
};

int Node::alive;

static bool insert(Node **root, int key) {
    Node *fresh = new Node(key);
    Node **at = root;
    while (*at != nullptr) {
        if ((*at)->key == fresh->key)        // last used
            return false;                    // leaks: scope-end fresh
        at = key < (*at)->key ? &(*at)->left : &(*at)->right;
    }
    *at = fresh;
    return true;
}

static void destroy(Node *node) {
    if (node == nullptr)
        return;
    destroy(node->left);
    destroy(node->right);
    delete node;
}

int main() {
    Node *root = nullptr;
    int stored = 0;
    for (int key : {5, 2, 5, 9, 2, 7})
        stored += insert(&root, key);
    std::printf("%d stored, %d alive\n", stored, Node::alive);
    destroy(root);
    return 0;
}
