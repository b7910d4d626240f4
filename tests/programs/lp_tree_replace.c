// A key that is set again gets a new node in place of the old one, which keeps its own text.
// stdout: a=3 b=2
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct node {
    char key;
    char *text;
    struct node *left, *right;
};

static struct node *new_node(char key, const char *text) {
    struct node *node = calloc(1, sizeof *node);    // lost @node: 1 block, 32 bytes
    node->key = key;
    node->text = strdup(text);    // indirect @text: 1 block, 2 bytes
    return node;
}

static void set(struct node **at, char key, const char *text) {
    while (*at != NULL && (*at)->key != key)
        at = key < (*at)->key ? &(*at)->left : &(*at)->right;
    struct node *node = new_node(key, text);
    if (*at != NULL) {
        node->left = (*at)->left;
        node->right = (*at)->right;    // last used @node
    }
    *at = node;    // leaks @node: overwritten *at; leaks @text: overwritten *at
}

static void drop(struct node *node) {
    if (node == NULL)
        return;
    drop(node->left);
    drop(node->right);
    free(node->text);
    free(node);
}

int main(void) {
    struct node *root = NULL;

    set(&root, 'a', "1");
    set(&root, 'b', "2");
    set(&root, 'a', "3");
    printf("%c=%s %c=%s\n", root->key, root->text, root->right->key, root->right->text);
    drop(root);
    return 0;
}
