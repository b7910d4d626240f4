// Endless recursion in a thread with a small stack: SIGSEGV in its guard page.
// flags: -pthread
// signal: 11
// lsan: differs: does not check a program that a signal ends
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static void open_document(void) {
    char *title = strdup("untitled");    // lost: 1 block, 9 bytes
    title[0] = 'U';
    title = NULL;
}

static long count_children(long depth) {
    volatile char path[2000];
    path[depth % 2000] = (char)depth;
    return count_children(depth + 1) + path[11];
}

static void *index_folder(void *unused) {
    open_document();
    return count_children(0) == 0 ? NULL : unused;
}

int main(void) {
    pthread_attr_t small;
    pthread_t thread;

    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 128 * 1024);
    pthread_create(&thread, &small, index_folder, NULL);
    pthread_join(thread, NULL);
    return 0;
}
