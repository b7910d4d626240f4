// Every attempt allocates a reply; the loop tries again without freeing the one that was refused.
// gap: -O2: the optimiser leaves no use on the line
// valgrind -O2: differs: gcc inlines ask: its calloc puts the next reply into the register of the last
// stdout: ready after 3
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct reply {
    int status;
    char text[12];
};

static int attempts;

static struct reply *ask(void) {
    struct reply *reply = calloc(1, sizeof *reply);    // lost: 2 blocks, 32 bytes
    reply->status = ++attempts < 3 ? 503 : 200;
    strcpy(reply->text, attempts < 3 ? "busy" : "ready");
    return reply;
}

static struct reply *ask_until_ready(int most) {
    struct reply *reply = NULL;

    for (int i = 0; i < most; i++) {
        reply = ask();    // leaks: overwritten reply
        if (reply->status == 200)    // last used
            break;
    }
    return reply;
}

int main(void) {
    struct reply *reply = ask_until_ready(5);

    printf("%s after %d\n", reply->text, attempts);
    free(reply);    // frees: 1 block
    return 0;
}
