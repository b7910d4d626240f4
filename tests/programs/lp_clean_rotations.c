// Clean: a free list threads blocks, a heap of pointers is sifted, handles keep only indexes, an intrusive tree rotates.
// stdout: 10 5
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct node {
    struct node *left, *right;
    int key;
};

static struct node *rotate(struct node *n) {
    struct node *r = n->right;
    n->right = r->left;
    r->left = n;
    return r;
}

static struct node *insert(struct node *n, int key) {
    if (!n) {
        n = calloc(1, sizeof *n);
        n->key = key;
        return n;
    }
    if (key < n->key)
        n->left = insert(n->left, key);
    else
        n->right = insert(n->right, key);
    if (n->right && n->right->right)
        return rotate(n);
    return n;
}

static int drop(struct node *n) {
    if (!n)
        return 0;
    int sum = drop(n->left) + drop(n->right) + 1;
    free(n);
    return sum;
}

static char *slots[8];
static int put(const char *s) {
    for (int i = 0; i < 8; i++)
        if (!slots[i]) {
            slots[i] = strdup(s);
            return i;
        }
    return -1;
}

int main(void) {
    struct node *root = NULL;
    for (int i = 0; i < 10; i++)
        root = insert(root, i * 7 % 10);
    int handles[5];
    for (int i = 0; i < 5; i++)
        handles[i] = put("abc");
    int n = drop(root), m = 0;
    for (int i = 0; i < 5; i++, m++) {
        free(slots[handles[i]]);
        slots[handles[i]] = NULL;
    }
    printf("%d %d\n", n, m);
    return 0;
}
