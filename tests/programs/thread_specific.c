// pthread_setspecific holds the only pointers: in the thread's own table, and in the second-level one for later keys.
// flags: -pthread
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { KEYS = 200 };

static pthread_key_t keys[KEYS];

static void remember(pthread_key_t key, const char *text) {
    char *copy = strdup(text);    // forgotten: 2 blocks, 11 bytes; lost: 1 block, 8 bytes
    pthread_setspecific(key, copy);
    copy = NULL;
}

static void *visitor(void *unused) {
    remember(keys[150], "visitor");
    return unused;
}

int main(void) {
    pthread_t thread;

    for (int i = 0; i < KEYS; i++)
        if (pthread_key_create(&keys[i], NULL) != 0)
            return 1;
    remember(keys[3], "near");
    remember(keys[190], "later");
    pthread_create(&thread, NULL, visitor, NULL);
    pthread_join(thread, NULL);
    return 0;
}
