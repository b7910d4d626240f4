// Pointers carry flags in their low bits: a leaf flag in the children, a dirty flag in the root. Every node is held.
// memcheck: differs: calls a block with interior pointers only "possibly lost"
// variants: -O0 -O2
// stdout: 15 keys, sum 120, dirty
#include <cstdint>
#include <cstdio>

struct Leaf {
    int key;
};

struct Branch {
    int key;
    std::uintptr_t child[2];
};

static constexpr std::uintptr_t kLeaf = 1, kDirty = 2, kFlags = 3;

static Branch *branch(std::uintptr_t word) { return reinterpret_cast<Branch *>(word & ~kFlags); }
static Leaf *leaf(std::uintptr_t word) { return reinterpret_cast<Leaf *>(word & ~kFlags); }

static std::uintptr_t build(int low, int high) {
    int middle = (low + high) / 2;
    if (low == high)
        return reinterpret_cast<std::uintptr_t>(new Leaf{middle}) | kLeaf;
    Branch *node = new Branch{middle, {}};
    node->child[0] = build(low, middle - 1);
    node->child[1] = build(middle + 1, high);
    return reinterpret_cast<std::uintptr_t>(node);
}

static int sum(std::uintptr_t word, int *count) {
    ++*count;
    if (word & kLeaf)
        return leaf(word)->key;
    const Branch *node = branch(word);
    return node->key + sum(node->child[0], count) + sum(node->child[1], count);
}

static void destroy(std::uintptr_t word) {
    if (word & kLeaf) {
        delete leaf(word);
        return;
    }
    Branch *node = branch(word);
    destroy(node->child[0]);
    destroy(node->child[1]);
    delete node;
}

std::uintptr_t root, spare;

int main() {
    root = build(1, 15);
    root |= kDirty;
    spare = reinterpret_cast<std::uintptr_t>(new Leaf{99}) | kLeaf;    // forgotten: 1 block, 4 bytes
    int count = 0;
    int total = sum(root, &count);
    std::printf("%d keys, sum %d, %s\n", count, total, root & kDirty ? "dirty" : "clean");
    destroy(root);
    return leaf(spare)->key == 99 ? 0 : 1;
}
