// A subtree is cut off a search tree by clearing the link to it; its root is lost, the rest through the root.
// valgrind -O2: differs: gcc makes a jump of the last free in destroy, so that main is what frees; and its debug information loses root in the loop
// stdout: 7 nodes, 4 after the cut
#include <stdio.h>
#include <stdlib.h>

struct node {
    struct node *left, *right;
    int key;
};

static void insert(struct node **link, int key) {
    while (*link != NULL)
        link = key < (*link)->key ? &(*link)->left : &(*link)->right;
    *link = calloc(1, sizeof **link);    // lost: 1 block, 24 bytes; indirect: 2 blocks, 48 bytes
    (*link)->key = key;
}

static int count(const struct node *node) {
    return node == NULL ? 0 : 1 + count(node->left) + count(node->right);
}

static void drop_above(struct node *root, int limit) {
    while (root != NULL && root->key <= limit) {
        if (root->right != NULL && root->right->key > limit) {
            root->right = NULL;    // leaks: overwritten root->right
            return;
        }
        root = root->right;
    }
}

static void destroy(struct node *node) {
    if (node == NULL)
        return;
    destroy(node->left);
    destroy(node->right);
    free(node);    // frees: 4 blocks
}

int main(void) {
    static const int keys[] = {40, 20, 60, 10, 30, 50, 70};
    struct node *root = NULL;

    for (int i = 0; i < 7; i++)
        insert(&root, keys[i]);
    printf("%d nodes", count(root));
    drop_above(root, 40);
    printf(", %d after the cut\n", count(root));
    destroy(root);
    return 0;
}
