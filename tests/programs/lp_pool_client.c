// An allocator that says by leakscope.h what it does: sizes come from a table.
// valgrind -O2: differs: gcc inlines handle three times: the event of the last is a result that nobody keeps
// stdout: 3 events
// memcheck: differs: it knows nothing of the pool
// lsan: differs: it knows nothing of the pool
#include <leakscope.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum kind { KEY, CLICK, TEXT };

static const size_t sizes[] = {[KEY] = 16, [CLICK] = 32, [TEXT] = 64};

union event {
    struct {
        enum kind kind;
        char *text;
    };
    union event *next;
    char room[64];
};

static union event *slab;
static int used;
static union event *returned;

__attribute__((noinline)) static union event *event_alloc(enum kind kind) {
    union event *event = returned;
    if (event != NULL) {
        returned = event->next;
    } else {
        if (slab == NULL)
            slab = malloc(16 * sizeof *slab);
        event = &slab[used++];
    }
    leakscope_pool_allocated(&slab, event, sizes[kind], LEAKSCOPE_FREED_ONE_BY_ONE);
    event->kind = kind;
    event->text = NULL;
    return event;
}

__attribute__((noinline)) static void event_free(union event *event) {
    leakscope_pool_freed(event);
    event->next = returned;
    returned = event;
}

static int handle(enum kind kind) {
    union event *event = event_alloc(kind); // lost: 1 block, 64 bytes
    if (kind == TEXT)
        return 1; // leaks: scope-end event
    event_free(event); // frees: 2 blocks
    return 1;
}

int main(void) {
    int events = handle(KEY) + handle(CLICK) + handle(TEXT);
    printf("%d events\n", events);
    return 0;
}
