// An element of an array in a union is replaced by another node: its subtree goes with it.
// valgrind-variable -O2: differs: gcc inlines set, where a is main's root and i is 1
// stdout: 7 x
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum { NUM, STR, ARR } Kind;
typedef struct Node {
    Kind kind;
    union {
        double num;
        char *str;
        struct { struct Node **items; int n; } arr;
    } u;
} Node;

static Node *node(Kind k) {
    Node *n = calloc(1, sizeof *n);    // lost @arr: 1 block, 24 bytes; indirect @arr: 2 blocks, 48 bytes
    n->kind = k;
    return n;
}

static Node *num(double d) { Node *n = node(NUM); n->u.num = d; return n; }
static Node *str(const char *s) {
    Node *n = node(STR);
    n->u.str = strdup(s);    // indirect @arr: 1 block, 6 bytes
    return n;
}
static Node *arr(int n, ...);

#include <stdarg.h>
static Node *arr(int n, ...) {
    Node *a = node(ARR);
    a->u.arr.items = malloc((size_t)n * sizeof(Node *));    // indirect @arr: 1 block, 16 bytes
    a->u.arr.n = n;
    va_list ap;
    va_start(ap, n);
    for (int i = 0; i < n; i++)
        a->u.arr.items[i] = va_arg(ap, Node *);
    va_end(ap);
    return a;
}

static void drop(Node *n) {
    switch (n->kind) {
    case STR: free(n->u.str); break;
    case ARR:
        for (int i = 0; i < n->u.arr.n; i++) drop(n->u.arr.items[i]);
        free(n->u.arr.items);
        break;
    default: break;
    }
    free(n);
}

static void set(Node *a, int i, Node *v) {
    if (i < a->u.arr.n)
        a->u.arr.items[i] = v;    // leaks @arr: overwritten a->u.arr.items[i]
    else
        drop(v);
}

int main(void) {
    Node *root = arr(3, num(1), arr(2, str("hello"), num(2)), str("x"));
    set(root, 1, num(7));
    set(root, 9, str("away"));
    printf("%g %s\n", root->u.arr.items[1]->u.num, root->u.arr.items[2]->u.str);
    drop(root);
    return 0;
}
