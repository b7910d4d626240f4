// A list that is changed by commands; the middle of three is unlinked only.
// options: --runs 300
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct node {
    int key;
    struct node *next;
};

static struct node *head;

static void add(int key)
{
    struct node *n = malloc(sizeof *n); // @x MA
    if (!n)
        return;
    n->key = key;
    n->next = head;
    head = n;
}

static void del(int key)
{
    for (struct node **p = &head; *p; p = &(*p)->next)
        if ((*p)->key == key) {
            struct node *gone = *p;
            *p = gone->next;
            if (p != &head && *p != NULL)
                return; // @x LK = must-leak lost
            free(gone);
            return;
        }
}

int main(void)
{
    char line[32], word[8];
    int key;
    while (fgets(line, sizeof line, stdin)) {
        int n = sscanf(line, "%7s %d", word, &key);
        if (n == 2 && !strcmp(word, "add"))
            add(key);
        else if (n == 2 && !strcmp(word, "del"))
            del(key);
        else if (n == 1 && !strcmp(word, "end"))
            break;
    }
    while (head) {
        struct node *gone = head;
        head = gone->next;
        free(gone);
    }
    return 0;
}
