// A set of connections removes by moving the last one into the hole: the removed connection's buffer is forgotten.
// valgrind-variable -O2: differs: gcc inlines set_remove, where the element is in registers that no variable has
// stdout: 2 left
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct conn {
    int fd;
    char *in;
    size_t used;
};

struct set {
    struct conn *all;
    int count, room;
};

static void set_add(struct set *s, int fd) {
    if (s->count == s->room) {
        s->room = s->room ? s->room * 2 : 2;
        s->all = realloc(s->all, (size_t)s->room * sizeof *s->all);
    }
    struct conn *c = &s->all[s->count++];
    c->fd = fd;
    c->in = malloc(128);    // lost: 1 block, 128 bytes
    c->in[0] = '\0';
    c->used = 0;
}

static void set_remove(struct set *s, int i) {
    s->all[i] = s->all[--s->count];    // leaks: overwritten s->all[i].in
}

static void feed(struct conn *c, const char *bytes) {
    size_t n = strlen(bytes);
    memcpy(c->in + c->used, bytes, n + 1);    // last used
    c->used += n;
}

int main(void) {
    struct set s = {0};
    for (int i = 0; i < 3; i++)
        set_add(&s, 10 + i);
    for (int i = 0; i < s.count; i++)
        feed(&s.all[i], i == 1 ? "quit" : "hello");
    for (int i = 0; i < s.count; i++)
        if (s.all[i].used == 4)
            set_remove(&s, i--);
    printf("%d left\n", s.count);
    for (int i = 0; i < s.count; i++)
        free(s.all[i].in);    // frees: 2 blocks
    free(s.all);
    return 0;
}
