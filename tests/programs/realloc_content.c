// realloc grows, shrinks and moves a text buffer through every size class: the content stays, nothing is left.
#include <stdlib.h>
#include <string.h>

struct text {
    unsigned char *bytes;
    size_t length;
    size_t capacity;
};

static void resize(struct text *text, size_t capacity) {
    unsigned char *bytes = realloc(text->bytes, capacity);

    if (bytes == NULL)
        abort();
    text->bytes = bytes;
    text->capacity = capacity;
    if (text->length > capacity)
        text->length = capacity;
}

static void append(struct text *text, unsigned char byte) {
    if (text->length == text->capacity)
        resize(text, text->capacity == 0 ? 1 : text->capacity + text->capacity / 2 + 1);
    text->bytes[text->length++] = byte;
}

static void verify(const struct text *text) {
    for (size_t i = 0; i < text->length; i++)
        if (text->bytes[i] != (unsigned char)(i * 7))
            abort();
}

int main(void) {
    struct text text = {0};

    for (size_t i = 0; i < 3000000; i++)
        append(&text, (unsigned char)(i * 7));
    verify(&text);
    for (size_t capacity = text.length; capacity > 0; capacity = capacity * 3 / 4) {
        resize(&text, capacity);
        verify(&text);
    }
    free(text.bytes);
    return 0;
}
