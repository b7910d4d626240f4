// A tree is dropped as a whole: its root is lost, everything below it only through the root.
#include <stdlib.h>
#include <string.h>

struct folder {
    char *name;
    struct folder *children[2];
};

static struct folder *plant(int depth) {
    struct folder *folder = calloc(1, sizeof *folder);    // lost: 1 block, 24 bytes; indirect: 30 blocks, 720 bytes
    folder->name = strdup("folder");                      // indirect: 31 blocks, 217 bytes
    for (int i = 0; depth > 0 && i < 2; i++)
        folder->children[i] = plant(depth - 1);
    return folder;
}

static int count(const struct folder *folder) {
    return folder == NULL ? 0 : 1 + count(folder->children[0]) + count(folder->children[1]);
}

static int scan(void) {
    struct folder *root = plant(4);
    int folders = count(root);
    root = NULL;
    return folders;
}

int main(void) {
    return scan() == 31 ? 0 : 1;
}
