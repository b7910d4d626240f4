// A log is emptied by setting the head of its list to NULL: the first event is lost, the others through it.
// valgrind -O2: differs: gcc drops the store of clear, since record stores to events right after it
// stdout: 3 events, 1 after
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct event {
    struct event *next;
    char *text;
    int severity;
};

static struct event *events;

static void record(int severity, const char *text) {
    struct event *event = malloc(sizeof *event);    // lost @event: 1 block, 24 bytes; indirect @event: 2 blocks, 48 bytes
    event->text = strdup(text);                     // indirect @text: 3 blocks, 18 bytes
    event->severity = severity;
    event->next = events;
    events = event;
}

static int count(void) {
    int found = 0;

    for (struct event *event = events; event != NULL; event = event->next)    // last used @event
        found += event->text[0] != '\0';    // last used @text
    return found;
}

static void clear(void) {
    events = NULL;    // leaks @event: overwritten events; leaks @text: overwritten events
}

static void release(void) {
    while (events != NULL) {
        struct event *next = events->next;
        free(events->text);
        free(events);
        events = next;
    }
}

int main(void) {
    static const char *const texts[] = {"start", "retry", "stop!"};

    for (int i = 0; i < 3; i++)
        record(i, texts[i]);
    printf("%d events", count());
    clear();
    record(9, "again");
    printf(", %d after\n", count());
    release();
    return 0;
}
