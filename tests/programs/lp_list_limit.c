// A token list grows by realloc into a temporary; on a limit it returns without the items, and frees only the list head.
// stdout: 3
// stdout: -1
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct list {
    char **items;
    size_t count, room;
};

static int add(struct list *l, const char *s, size_t n) {
    if (l->count == l->room) {
        size_t room = l->room ? l->room * 2 : 2;
        if (room > 4)
            return -1;
        char **more = realloc(l->items, room * sizeof *more);    // lost @items: 1 block, 32 bytes
        if (!more)
            return -1;
        l->items = more;
        l->room = room;
    }
    l->items[l->count++] = strndup(s, n);    // indirect @items: 4 blocks, 8 bytes
    return 0;
}

static void list_free(struct list *l) {
    for (size_t i = 0; i < l->count; i++)
        free(l->items[i]);
    free(l->items);
    free(l);
}

static struct list *split(const char *s) {
    struct list *l = calloc(1, sizeof *l);
    for (;;) {
        size_t n = strcspn(s, ",");
        if (add(l, s, n) < 0) {
            free(l);    // leaks @items: holder-freed l->items
            return NULL;
        }
        if (!s[n])
            return l;
        s += n + 1;
    }
}

int main(void) {
    struct list *l = split("a,b,c");
    printf("%zu\n", l->count);
    list_free(l);
    l = split("a,b,c,d,e");
    printf("%d\n", l ? 0 : -1);
    return 0;
}
