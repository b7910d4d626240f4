// Allocation before main: in .preinit_array, in constructors by priority, and held by a global for later.
#include <stdlib.h>
#include <string.h>

struct module {
    char name[24];
    struct module *next;
};

static struct module *registry;

static void register_module(const char *name) {
    struct module *module = calloc(1, sizeof *module);    // forgotten: 2 blocks, 64 bytes
    strcpy(module->name, name);
    module->next = registry;
    registry = module;
}

static void read_environment(void) {
    char *copy = strdup("LANG=C");                        // lost: 1 block, 7 bytes
    copy[0] = 'l';
    copy = NULL;
}

__attribute__((section(".preinit_array"), used)) static void (*earliest)(void) = read_environment;

__attribute__((constructor(101))) static void register_log(void) {
    register_module("log");
}

__attribute__((constructor)) static void register_network(void) {
    char *draft = malloc(40);                             // lost: 1 block, 40 bytes
    strcpy(draft, "network");
    register_module(draft);
    draft = NULL;
}

int main(void) {
    return strcmp(registry->name, "network") == 0 ? 0 : 1;
}
