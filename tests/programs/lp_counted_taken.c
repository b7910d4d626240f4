// Lists that take the reference over that they are given, and their callers count up for it: where the place is out of range,
// the list forgets it. Looking up counts for the caller, who forgets it once and drops it the next time.
// options: --explain
// valgrind: differs: the last pointer goes with a rightful holder
// stdout: out of range
// stdout: 3 objects, first 7
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct object {
    int type;
    size_t refcount;
    int value;
};

struct list {
    struct object *items[8];
    int count;
};

static struct object *object_new(int value)
{
    struct object *object = malloc(sizeof *object); // lost @range: 1 block, 24 bytes; lost @found: 1 block, 24 bytes; counted @range: 3 references, 2 holders; counted @found: 2 references, 1 holder
    object->type = 1;
    object->refcount = 1;
    object->value = value;
    return object;
}

static struct object *incref(struct object *object)
{
    ++object->refcount;
    return object;
}

static void decref(struct object *object)
{
    if (--object->refcount == 0)
        free(object);
}

static int list_insert_new(struct list *list, int at, struct object *object)
{
    if (object->type == 1 && at > list->count) // leaks @range: not-released ?
        return -1;
    memmove(list->items + at + 1, list->items + at, (list->count - at) * sizeof *list->items);
    list->items[at] = object;
    list->count++;
    return 0;
}

static int list_insert(struct list *list, int at, struct object *object)
{
    return list_insert_new(list, at, incref(object));
}

static struct object *list_find(struct list *list, int value)
{
    for (int i = 0; i < list->count; i++) {
        if (list->items[i]->value == value) {
            list->items[i]->refcount++;
            return list->items[i];
        }
    }
    return NULL;
}

static int has(struct list *list, int value, int type)
{
    struct object *found = list_find(list, value);
    if (found->type != type)
        return 0; // leaks @found: scope-end found
    decref(found);
    return 1;
}

static void list_clear(struct list *list)
{
    while (list->count > 0) {
        decref(list->items[--list->count]);
        list->items[list->count] = NULL;
    }
}

int main(void)
{
    struct list list = {0};
    list_insert_new(&list, 0, object_new(1));
    list_insert_new(&list, 0, object_new(7));
    struct object *shared = object_new(3);
    list_insert(&list, 1, shared);
    if (list_insert(&list, 9, shared) != 0)
        puts("out of range");
    if (!has(&list, 1, 2) && has(&list, 1, 1) && has(&list, 7, 1))
        printf("%d objects, first %d\n", list.count, list.items[0]->value);
    list_clear(&list);
    decref(shared);
    return 0;
}
