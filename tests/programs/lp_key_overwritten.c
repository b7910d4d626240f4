// pthread_setspecific puts a new value in the place of an old one; the destructor sees only the last.
// flags: -pthread
// stdout: end of carol
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_key_t current_user;

static void log_out(void *name) {
    printf("end of %s\n", (char *)name);
    free(name);    // frees: 1 block
}

static void log_in(const char *name) {
    pthread_setspecific(current_user, strdup(name));    // lost: 2 blocks, 10 bytes; leaks: overwritten ?
}

static int is_user(const char *name) {
    const char *user = pthread_getspecific(current_user);

    return user != NULL && strcmp(user, name) == 0;    // last used
}

static void *serve(void *names) {
    for (const char *const *name = names; *name != NULL; name++) {
        log_in(*name);
        if (!is_user(*name))
            abort();
    }
    return NULL;
}

int main(void) {
    static const char *names[] = {"dave", "erin", "carol", NULL};
    pthread_t thread;

    if (pthread_key_create(&current_user, log_out) != 0 || pthread_create(&thread, NULL, serve, names) != 0)
        return 1;
    pthread_join(thread, NULL);
    return 0;
}
