// The second allocation fails, and the first is forgotten.
#include <stdlib.h>
#include <string.h>

struct pair {
    char *name;
    char *value;
};

static struct pair *make(const char *name, const char *value)
{
    struct pair *pair = malloc(sizeof *pair);                   // @pair MA
    if (!pair)
        return NULL;
    pair->name = strdup(name);
    if (!pair->name) {                                          // @pair BT
        return NULL;                                            // @pair LK = must-leak
    }
    pair->value = strdup(value);
    if (!pair->value) {
        free(pair->name);
        free(pair);
        return NULL;
    }
    return pair;
}

int main(void)
{
    struct pair *pair = make("a", "b");
    if (!pair)
        return 1;
    free(pair->name);
    free(pair->value);
    free(pair);
    return 0;
}
