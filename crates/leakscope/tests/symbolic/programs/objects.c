#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static void *xmalloc(size_t n) { void *p = malloc(n); if (!p) exit(3); return p; }
struct node { struct node *next; char *text; };
static struct node *push(struct node *list, const char *text) {
    struct node *n = xmalloc(sizeof *n); n->text = strdup(text); n->next = list; return n;
}
int main(void) {
    struct node *list = 0;
    char line[100];
    while (fgets(line, sizeof line, stdin)) { if (line[0] != '#') list = push(list, line); }
    while (list) {
        struct node *n = list;
        list = list->next;
        if (n->text[0] != 'x') free(n->text); free(n);
    }
    return 0;
}
