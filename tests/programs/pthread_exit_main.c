// main leaves through pthread_exit; the program ends when its last thread does, and is reported then.
// flags: -pthread
// lsan: differs: stops when the main thread is joined
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static pthread_t main_thread;
static char *volatile journal;
static char nowhere[1];
static char *volatile settings = nowhere;    // in .data, where the executable's file is mapped

static void append(const char *text) {
    char *line = strdup(text);           // lost: 1 block, 12 bytes
    line[0] = 'R';
    line = NULL;
}

static void *finish(void *unused) {
    pthread_join(main_thread, NULL);
    append("rest of job");
    free(journal);
    journal = NULL;
    return unused;
}

static void start(void) {
    char *options = malloc(31);          // lost: 1 block, 31 bytes
    options[0] = 0;
    options = NULL;
    journal = malloc(4000);
    settings = malloc(57);               // forgotten: 1 block, 57 bytes
}

int main(void) {
    pthread_t thread;

    main_thread = pthread_self();
    start();
    pthread_create(&thread, NULL, finish, NULL);
    pthread_detach(thread);
    pthread_exit(NULL);
}
