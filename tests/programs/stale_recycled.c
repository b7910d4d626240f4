// A freed block comes back with its old words in it, and only its first field is set: the rest holds nothing.
#include <stdlib.h>
#include <string.h>

struct request {
    long id;
    char *path;
    char *query;
    char *body;
    long reserved[4];
};

static struct request *slots[40];

static struct request *receive(long id) {
    struct request *request = malloc(sizeof *request);    // forgotten: 40 blocks, 2560 bytes
    request->id = id;
    return request;
}

static void fill(struct request *request) {
    request->path = strdup("/index.html");    // lost: 40 blocks, 480 bytes
    request->query = strdup("lang=en");       // lost: 40 blocks, 320 bytes
    request->body = NULL;
}

static void round_trip(void) {
    struct request *used[40];

    for (int i = 0; i < 40; i++) {
        used[i] = receive(i);
        fill(used[i]);
    }
    for (int i = 0; i < 40; i++)
        free(used[i]);
    memset(used, 0, sizeof used);
}

int main(void) {
    round_trip();
    for (int i = 0; i < 40; i++)
        slots[i] = receive(100 + i);
    return slots[39]->id == 139 ? 0 : 1;
}
