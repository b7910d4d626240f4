// A member whose own allocation fails is none: what is lost then is the list around it, which the other
// warning is about.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct value {
    struct value *first;
};

static const char *at;

static void drop(struct value *v)
{
    if (v->first)
        drop(v->first);
    free(v);
}

static struct value *parse(int depth)
{
    struct value *v = depth < 4 ? calloc(1, sizeof *v) : NULL; // @word MA; @list MA
    if (*at == '[' && v) {
        at++;
        v->first = parse(depth + 1);
        if (!v->first) {              // @list BT
            return NULL;              // @list LK = must-leak lost
        }
    } else if (*at == 't' && v) {
        at++;
    } else {
        free(v);                      // @word PP
        return NULL;                  // @word LK = bloat
    }
    return v;
}

int main(void)
{
    char text[32];
    text[fread(text, 1, sizeof text - 1, stdin)] = 0;
    at = text;
    struct value *v = parse(0);
    if (!v)
        return 1;
    drop(v);
    return 0;
}
