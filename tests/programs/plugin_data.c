// The data of an open plugin holds its block; the data of a closed one is gone and its block lost.
// flags: -ldl
// plugin: plugin_data.open.plugin.c -> libopen.so
// plugin: plugin_data.closed.plugin.c -> libclosed.so
// lsan: differs: cannot name frames of a closed library
#include <dlfcn.h>
#include <stddef.h>

static void *load(const char *library) {
    void *plugin = dlopen(library, RTLD_NOW);
    if (plugin != NULL)
        ((void (*)(void))dlsym(plugin, "prepare"))();
    return plugin;
}

int main(void) {
    if (load("./libopen.so") == NULL)
        return 1;
    void *closed = load("./libclosed.so");
    return closed == NULL ? 1 : dlclose(closed);
}
