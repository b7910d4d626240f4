// A key without a destructor: what a thread stored under it is lost when the thread ends.
// flags: -pthread
// stdout: errors: 2 3
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct statistics {
    int lines;
    int errors;
};

struct input {
    const char *text;
    int errors;
};

static pthread_key_t key;

static struct statistics *statistics(void) {
    struct statistics *own = pthread_getspecific(key);

    if (own == NULL) {
        own = calloc(1, sizeof *own);    // lost: 2 blocks, 16 bytes
        pthread_setspecific(key, own);
    }
    return own;
}

static void *check(void *argument) {
    struct input *input = argument;

    for (const char *c = input->text; *c != '\0'; c++) {
        statistics()->lines++;
        statistics()->errors += *c == 'E';
    }
    input->errors = statistics()->errors;    // last used
    return NULL;    // leaks: thread-end ?
}

int main(void) {
    struct input inputs[] = {{"..E.E", 0}, {"EEE", 0}};

    if (pthread_key_create(&key, NULL) != 0)
        return 1;
    for (int i = 0; i < 2; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, check, &inputs[i]) != 0)
            return 1;
        pthread_join(thread, NULL);
    }
    printf("errors: %d %d\n", inputs[0].errors, inputs[1].errors);
    return 0;
}
