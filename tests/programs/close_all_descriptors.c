// A daemon-like start closes every descriptor it can name, and then loses a block.
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void close_all(void) {
    for (int descriptor = 0; descriptor < 1024; descriptor++)
        close(descriptor);
}

static void handle(const char *event) {
    char *copy = strdup(event);    // lost: 1 block, 8 bytes
    copy[0] = 'L';
    copy = NULL;
}

int main(void) {
    close_all();
    handle("link up");
    return 0;
}
