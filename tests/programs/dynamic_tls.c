// The TLS of a library that was opened at run time holds the only pointers, in main and in a parked thread.
// flags: -pthread -ldl
// plugin: dynamic_tls.plugin.c -> liberrors.so
// memcheck: differs: calls what only the TLS of a parked thread holds "possibly lost"
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

static void (*set_error)(const char *);
static int idle_pipe[2];
static atomic_int ready;

static void *park(void *unused) {
    char byte;
    set_error("parked");
    ready = 1;
    return read(idle_pipe[0], &byte, 1) > 0 ? unused : NULL;
}

static void *pass_by(void *unused) {
    set_error("passing by");
    return unused;
}

int main(void) {
    pthread_t parked, passing;
    void *library = dlopen("./liberrors.so", RTLD_NOW);
    if (library == NULL || pipe(idle_pipe) != 0)
        return 1;
    set_error = (void (*)(const char *))dlsym(library, "set_error");
    set_error("in main");
    pthread_create(&passing, NULL, pass_by, NULL);
    pthread_join(passing, NULL);
    pthread_create(&parked, NULL, park, NULL);
    while (!ready)
        sched_yield();
    return 0;
}
