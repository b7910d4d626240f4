// realloc fails and its result is stored over the only pointer: the old block stays allocated, and lost.
// stdout: refused at 3 bytes
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct builder {
    char *text;
    size_t length;
};

static int append(struct builder *builder, const char *text, size_t length) {
    builder->text = realloc(builder->text, builder->length + length);    // lost: 1 block, 3 bytes; leaks: overwritten builder->text
    if (builder->text == NULL)
        return -1;
    memcpy(builder->text + builder->length, text, length);
    builder->length += length;
    return 0;
}

int main(int argc, char **argv) {
    struct builder builder = {0};
    const char *text = argc > 1 ? argv[1] : "abc";
    volatile size_t announced = PTRDIFF_MAX - 4096;

    if (append(&builder, text, 1) != 0 || append(&builder, text + 1, 2) != 0)
        return 1;
    if (append(&builder, text, announced) == 0)
        return puts(builder.text);
    printf("refused at %zu bytes\n", builder.length);
    return 0;
}
