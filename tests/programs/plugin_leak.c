// A plugin loses blocks and is closed before the end: its frames are still named.
// flags: -ldl
// plugin: plugin_leak.plugin.c -> libresize.so
// lsan: differs: cannot name frames of a closed library
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

typedef int resize_fn(int width, int height);

int main(void) {
    void *plugin = dlopen("./libresize.so", RTLD_NOW);
    if (plugin == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    resize_fn *resize = (resize_fn *)dlsym(plugin, "resize");
    int done = resize(32, 4) + resize(16, 2);
    dlclose(plugin);
    return done == 2 && dlopen("./libresize.so", RTLD_NOW | RTLD_NOLOAD) == NULL ? 0 : 2;
}
