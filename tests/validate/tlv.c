// Nested TLV from standard input; a container (tag 0x30) holds others.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct node {
    unsigned char tag;
    size_t size;
    unsigned char *value;
    struct node *child, *next;
};

static void release(struct node *n)
{
    while (n) {
        struct node *next = n->next;
        release(n->child);
        free(n->value);
        free(n);
        n = next;
    }
}

static struct node *parse(const unsigned char *p, size_t n, int depth, int *error)
{
    struct node *first = NULL, **end = &first;
    while (n > 0 && !*error) {
        if (n < 2) {
            *error = 1;
            break;
        }
        unsigned char tag = p[0];
        size_t size = p[1], head = 2;
        if (size == 0x81) {
            if (n < 3) {
                *error = 2;
                break;
            }
            size = p[2];
            head = 3;
        } else if (size > 0x7f) {
            *error = 3;
            break;
        }
        if (size > n - head) {
            *error = 4;
            break;
        }
        struct node *node = calloc(1, sizeof *node); // @node MA
        if (!node) {
            *error = 5;
            break;
        }
        node->tag = tag;
        node->size = size;
        if (tag == 0x30) {
            if (depth == 3) {
                *error = 6;
                return first; // @node LK = must-leak lost
            }
            node->child = parse(p + head, size, depth + 1, error);
        } else {
            node->value = malloc(size + 1);
            if (!node->value) {
                free(node);
                *error = 5;
                break;
            }
            memcpy(node->value, p + head, size);
        }
        *end = node;
        end = &node->next;
        p += head + size;
        n -= head + size;
    }
    return first;
}

static int count(const struct node *n)
{
    int c = 0;
    for (; n; n = n->next)
        c += 1 + count(n->child);
    return c;
}

int main(void)
{
    unsigned char data[64];
    size_t n = fread(data, 1, sizeof data, stdin);
    int error = 0;
    struct node *all = parse(data, n, 0, &error);
    if (error)
        fprintf(stderr, "error %d\n", error);
    printf("%d\n", count(all));
    release(all);
    return error != 0;
}
