// A function returns a flag and a node in a pair; a caller looks at the flag only, another ignores the node by std::tie.
// valgrind: differs: a pair that nobody keeps is a temporary in the frame: the next one is written over it, or the return is seen
// stdout: 3 good, 1 named
#include <cstdio>
#include <cstring>
#include <tuple>
#include <utility>

struct Node {
    int value;
    char name[12];
};

static std::pair<bool, Node *> parse(const char *text) {
    Node *node = new Node;                    // lost @checked: 3 blocks, 48 bytes; lost @ignored: 1 block, 16 bytes
    node->value = static_cast<int>(std::strlen(text));
    std::snprintf(node->name, sizeof node->name, "%s", text);
    return {node->value > 2, node};
}

static int count_good(const char *const *texts, int count) {
    int good = 0;
    for (int i = 0; i < count; i++) {
        if (parse(texts[i]).first)            // leaks @checked: discarded
            good++;
    }
    return good;
}

static bool is_good(const char *text) {
    bool good = false;
    std::tie(good, std::ignore) = parse(text);    // leaks @ignored: discarded ?
    return good;
}

int main() {
    const char *texts[] = {"alpha", "be", "gamma"};
    int good = count_good(texts, 3);
    if (is_good("delta"))
        good++;
    auto [named, node] = parse("epsilon");
    std::printf("%d good, %d named\n", good, named ? 1 : 0);
    delete node;
    return 0;
}
