// A list of 100,000 nodes is lost at its head: a scan that recurses would overflow.
#include <stdlib.h>

struct event {
    struct event *next;
    long time;
};

static long record(int count) {
    struct event *events = NULL;
    long latest = 0;

    for (int i = 0; i < count; i++) {
        struct event *event = malloc(sizeof *event);    // lost: 1 block, 16 bytes; indirect: 99999 blocks, 1599984 bytes
        event->next = events;
        event->time = i;
        events = event;
    }
    for (struct event *event = events; event != NULL; event = event->next)
        latest += event->time;
    events = NULL;
    return latest;
}

int main(void) {
    return record(100000) == 4999950000 ? 0 : 1;
}
