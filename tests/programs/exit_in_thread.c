// A worker thread calls exit while main waits for it: main's frame is alive and holds its block.
// flags: -pthread
// exit: 8
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static void *watch(void *unused) {
    char *volatile alarm = strdup("disk full");    // forgotten: 1 block, 10 bytes
    if (alarm[0] == 'd')
        exit(8);
    return unused;
}

static void lose_banner(void) {
    char *banner = malloc(37);                     // lost: 1 block, 37 bytes
    banner[0] = '*';
    banner = NULL;
}

int main(void) {
    char *volatile settings = malloc(73);          // forgotten: 1 block, 73 bytes
    pthread_t watcher;

    settings[0] = 0;
    lose_banner();
    pthread_create(&watcher, NULL, watch, NULL);
    pthread_join(watcher, NULL);
    free(settings);
    return 0;
}
