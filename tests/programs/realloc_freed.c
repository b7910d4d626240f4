// realloc of a block that is already free: stopped like a second free.
// stops: double free
#include <stdlib.h>
#include <string.h>

struct buffer {
    char *bytes;
    size_t size;
};

static void reset(struct buffer *buffer) {
    free(buffer->bytes);                                          // first freed
    buffer->size = 0;
}

static void append(struct buffer *buffer, const char *text) {
    size_t length = strlen(text);
    char *grown = realloc(buffer->bytes, buffer->size + length);    // stops here
    memcpy(grown + buffer->size, text, length);
    buffer->bytes = grown;
    buffer->size += length;
}

int main(void) {
    struct buffer buffer = {malloc(64), 0};                       // allocated

    reset(&buffer);
    append(&buffer, "body");
    return 0;
}
