// A worker ends itself by pthread_exit inside a helper; the buffer of the frame that called it is lost.
// flags: -pthread
// stdout: 1 of 2 jobs done
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct job {
    const char *input;
    int done;
};

static void require(const char *text, char wanted) {
    if (strchr(text, wanted) == NULL)    // last used
        pthread_exit(NULL);    // leaks: unwound buffer
}

static void *work(void *argument) {
    struct job *job = argument;
    char *buffer = strdup(job->input);    // lost: 1 block, 10 bytes

    require(buffer, '{');
    require(buffer, '}');
    job->done = 1;
    free(buffer);    // frees: 1 block
    return NULL;
}

int main(void) {
    struct job jobs[] = {{"{ \"a\": 1 }", 0}, {"{ \"a\": 1 ", 0}};

    for (int i = 0; i < 2; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, work, &jobs[i]) != 0)
            return 1;
        pthread_join(thread, NULL);
    }
    printf("%d of 2 jobs done\n", jobs[0].done + jobs[1].done);
    return 0;
}
