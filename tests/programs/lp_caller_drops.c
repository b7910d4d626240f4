// A pointer is returned through two functions, and the outermost caller drops it.
// valgrind-totals -O2: differs: gcc drops the malloc of the plugin that nobody keeps
// valgrind -O2: differs: gcc drops the malloc of the plugin that nobody keeps
// gap: -O2: the optimiser leaves no use on the line
// stdout: 2 plugins, first text
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct plugin {
    struct plugin *next;
    char name[16];
    int priority;
};

static struct plugin *first;
static int count;

static struct plugin *copy_plugin(const struct plugin *plugin) {
    struct plugin *copy = malloc(sizeof *copy);    // lost: 1 block, 32 bytes
    memcpy(copy, plugin, sizeof *copy);
    return copy;
}

static struct plugin *register_plugin(const char *name, int priority) {
    struct plugin plugin = {.next = first, .priority = priority};

    snprintf(plugin.name, sizeof plugin.name, "%s", name);
    count++;
    if (first == NULL || priority > first->priority)
        return first = copy_plugin(&plugin);
    return copy_plugin(&plugin);
}

static struct plugin *load(const char *name, int priority) {
    if (name[0] == '.')
        return NULL;
    return register_plugin(name, priority);    // last used
}

int main(void) {
    load("text", 3);
    load("image", 1);    // leaks: discarded
    printf("%d plugins, first %s\n", count, first->name);
    free(first);
    return 0;
}
