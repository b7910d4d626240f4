// Two plugins one after the other, most likely at the same address: each block is named by its own plugin.
// flags: -ldl
// plugin: plugins_same_address.first.plugin.c -> libfirst.so
// plugin: plugins_same_address.second.plugin.c -> libsecond.so
// lsan: differs: names the first plugin's frames by the second, or not at all
#include <dlfcn.h>
#include <stdlib.h>

static int convert(const char *library, int value) {
    void *plugin = dlopen(library, RTLD_NOW);
    if (plugin == NULL)
        return -1;
    int (*apply)(int) = (int (*)(int))dlsym(plugin, "apply");
    int result = apply(value);
    dlclose(plugin);
    return result;
}

int main(void) {
    return convert("./libfirst.so", 5) == 10 && convert("./libsecond.so", 5) == 25 ? 0 : 1;
}
