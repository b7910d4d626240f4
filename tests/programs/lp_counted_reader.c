// A thread gets a reference of its own, and leaves without dropping it: its function is told, not the library that called it.
// flags: -pthread
// engines: valgrind
// valgrind -O2: differs: gcc has the buffer in a register alone
// options: --explain
// stdout: 6
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct buffer {
    atomic_int refs;
    size_t length;
    char bytes[24];
};

static struct buffer *buffer_new(const char *text) {
    struct buffer *buffer = malloc(sizeof *buffer);    // lost: 1 block, 40 bytes; counted: 2 references, 1 holder
    atomic_init(&buffer->refs, 1);
    buffer->length = strlen(text);
    strcpy(buffer->bytes, text);
    return buffer;
}

static struct buffer *buffer_get(struct buffer *buffer) {
    atomic_fetch_add(&buffer->refs, 1);
    return buffer;
}

static void buffer_put(struct buffer *buffer) {
    if (atomic_fetch_sub(&buffer->refs, 1) == 1)
        free(buffer);
}

static void *reader(void *argument) {
    struct buffer *buffer = argument;
    if (buffer->length == 0)    // leaks: not-released buffer
        return NULL;
    size_t vowels = 0;
    for (size_t i = 0; i < buffer->length; i++)
        vowels += strchr("aeiou", buffer->bytes[i]) != NULL;
    buffer_put(buffer);
    return (void *)vowels;
}

int main(void) {
    static const char *const texts[] = {"threads", "", "queue"};
    size_t sum = 0;
    for (int i = 0; i < 3; i++) {
        struct buffer *buffer = buffer_new(texts[i]);
        pthread_t thread;
        void *result;
        pthread_create(&thread, NULL, reader, buffer_get(buffer));
        pthread_join(thread, &result);
        sum += (size_t)result;
        buffer_put(buffer);
    }
    printf("%zu\n", sum);
    return 0;
}
