// An expression parser folds constants: of the two operands of a folded node, only the left one is freed.
// stdout: 14
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

struct node {
    char op;
    int value;
    struct node *left, *right;
};

static const char *at;

static struct node *make(char op, int value, struct node *left, struct node *right) {
    struct node *n = malloc(sizeof *n);    // lost: 2 blocks, 48 bytes
    n->op = op;
    n->value = value;
    n->left = left;
    n->right = right;
    return n;
}

static struct node *fold(struct node *n) {
    if (n->op == '#' || n->left->op != '#' || n->right->op != '#')
        return n;
    int a = n->left->value, b = n->right->value;    // last used
    free(n->left);
    n->value = n->op == '+' ? a + b : a * b;
    n->op = '#';
    n->left = n->right = NULL;    // leaks: overwritten n->right
    return n;
}

static struct node *number(void) {
    int value = 0;
    while (isdigit((unsigned char)*at))
        value = value * 10 + *at++ - '0';
    return make('#', value, NULL, NULL);
}

static struct node *product(void) {
    struct node *n = number();
    while (*at == '*') {
        at++;
        n = fold(make('*', 0, n, number()));
    }
    return n;
}

static struct node *sum(void) {
    struct node *n = product();
    while (*at == '+') {
        at++;
        n = fold(make('+', 0, n, product()));
    }
    return n;
}

int main(void) {
    at = "2+3*4";
    struct node *n = sum();
    printf("%d\n", n->value);
    free(n);
    return 0;
}
