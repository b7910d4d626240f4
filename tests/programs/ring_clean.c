// A doubly linked ring, an intrusive list reached by interior pointers only, and a pool: freed to the last block.
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct hook {
    struct hook *previous, *next;
};

struct task {
    char name[20];
    struct hook hook;
};

static struct hook ready = {&ready, &ready};

static void enqueue(const char *name) {
    struct task *task = calloc(1, sizeof *task);

    strncpy(task->name, name, sizeof task->name - 1);
    task->hook.previous = ready.previous;
    task->hook.next = &ready;
    ready.previous->next = &task->hook;
    ready.previous = &task->hook;
}

static int dequeue(void) {
    struct hook *hook = ready.next;

    if (hook == &ready)
        return 0;
    hook->previous->next = hook->next;
    hook->next->previous = hook->previous;
    free((char *)hook - offsetof(struct task, hook));
    return 1;
}

int main(void) {
    static const char *const names[] = {"compile", "link", "test", "package"};
    int done = 0;

    for (int round = 0; round < 500; round++)
        for (int i = 0; i < 4; i++) {
            enqueue(names[i]);
            if (i % 2 == 1)
                done += dequeue();
        }
    while (dequeue())
        done++;
    return done == 2000 ? 0 : 1;
}
