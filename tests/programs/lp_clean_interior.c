// Strings with a length in front are known only by their characters, inside the block: no pointer to its start is left.
// variants: -O0 -O2
// memcheck: differs: counts blocks that only an interior pointer holds as possibly lost
// stdout: 5 + 5 characters
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct header {
    size_t length;
    char text[];
};

static char *greeting, *name;

static char *string_new(const char *text) {
    size_t length = strlen(text);
    struct header *header = malloc(sizeof *header + length + 1);    // forgotten: 1 block, 14 bytes
    header->length = length;
    memcpy(header->text, text, length + 1);
    return header->text;
}

static struct header *header_of(char *string) {
    return (struct header *)(string - offsetof(struct header, text));
}

static void string_free(char *string) {
    free(header_of(string));
}

int main(void) {
    greeting = string_new("hello");
    name = string_new("world");
    printf("%zu + %zu characters\n", header_of(greeting)->length, header_of(name)->length);
    string_free(greeting);
    return 0;
}
