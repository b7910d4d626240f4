// The second free comes from another thread, long after the first: the report still knows the first.
// flags: -pthread
// stops: double free
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static char *volatile lease;

static void *expire(void *unused) {
    free(lease);                      // first freed
    return unused;
}

static void *renew(void *unused) {
    for (int i = 0; i < 20; i++)
        free(malloc(2000));
    free(lease);                      // stops here
    return unused;
}

int main(void) {
    pthread_t thread;

    lease = malloc(700);              // allocated
    memset(lease, 0, 700);
    pthread_create(&thread, NULL, expire, NULL);
    pthread_join(thread, NULL);
    pthread_create(&thread, NULL, renew, NULL);
    pthread_join(thread, NULL);
    return 0;
}
