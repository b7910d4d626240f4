// A table whose parts are allocated one by one; the last failure forgets the first part.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct table {
    char **names;
    int *values;
    int used, room;
};

static struct table *make(int room)
{
    struct table *t = malloc(sizeof *t);
    if (!t)
        return NULL;
    t->names = calloc(room, sizeof *t->names); // @names MA
    if (!t->names) {
        free(t);
        return NULL;
    }
    t->values = calloc(room, sizeof *t->values);
    if (!t->values) {
        free(t);
        return NULL; // @names LK = must-leak
    }
    t->room = room;
    t->used = 0;
    return t;
}

int main(int argc, char **argv)
{
    struct table *t = make(argc + 2);
    if (!t) {
        fprintf(stderr, "no memory\n");
        return 1;
    }
    for (int i = 1; i < argc && t->used < t->room; i++) {
        t->names[t->used] = argv[i];
        t->values[t->used++] = (int)strlen(argv[i]);
    }
    int sum = 0;
    for (int i = 0; i < t->used; i++)
        sum += t->values[i];
    printf("%d\n", sum);
    free(t->names);
    free(t->values);
    free(t);
    return 0;
}
