// A stream in memory replaces the text of the one before; a buffer has several pointers into its text, of which the first is its start.
// valgrind: differs: the stream replaces the text where it is closed, which the source does not say; the text is made there, too
// stdout: page 2
// stdout: 5 of 40
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *text;
static size_t size;

static void render(int page) {
    FILE *stream = open_memstream(&text, &size);    // leaks @text: overwritten text

    fprintf(stream, "page %d", page);
    fclose(stream);    // lost @text: 1 block, 7 bytes
    if (size != strlen(text))
        abort();
}

struct buffer {
    int lines;
    char *start, *position, *end;
};

__attribute__((noinline)) static struct buffer *buffer_new(size_t room) {
    struct buffer *buffer = malloc(sizeof *buffer);

    buffer->lines = 0;
    buffer->start = buffer->position = malloc(room);    // lost @buffer: 1 block, 40 bytes
    buffer->end = buffer->start + room;
    return buffer;
}

__attribute__((noinline)) static void buffer_add(struct buffer *buffer, const char *word) {
    size_t length = strlen(word);

    memcpy(buffer->position, word, length);
    buffer->position += length;    // last used @buffer
}

__attribute__((noinline)) static void buffer_free(struct buffer *buffer) {
    printf("%td of %td\n", buffer->position - buffer->start, buffer->end - buffer->start);
    free(buffer);    // leaks @buffer: holder-freed buffer->start
}

int main(void) {
    render(1);
    render(2);
    puts(text);
    free(text);

    struct buffer *buffer = buffer_new(40);
    buffer_add(buffer, "ab");
    buffer_add(buffer, "cde");
    buffer_free(buffer);
    return 0;
}
