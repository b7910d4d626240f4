// A chain of 1000 blocks hangs on one global: all of it is held; of the chain cut in the middle, the rest is lost.
#include <stdlib.h>

struct link {
    struct link *next;
    int number;
};

static struct link *history;
static struct link *undo;

static struct link *push(struct link *top, int number) {
    struct link *link = malloc(sizeof *link);    // forgotten: 1010 blocks, 16160 bytes; lost: 1 block, 16 bytes; indirect: 89 blocks, 1424 bytes
    link->number = number;
    link->next = top;
    return link;
}

static void cut(struct link *link, int length) {
    while (--length > 0)
        link = link->next;
    link->next = NULL;
}

int main(void) {
    for (int i = 0; i < 1000; i++)
        history = push(history, i);
    for (int i = 0; i < 100; i++)
        undo = push(undo, i);
    cut(undo, 10);
    return 0;
}
