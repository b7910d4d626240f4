#include "notes.h"

#include <stdlib.h>
#include <string.h>

char *wrapped(const char *text, size_t width) {
    size_t length = strlen(text);
    char *result = malloc(length + length / width + 2);
    size_t column = 0, out = 0;

    for (; *text != '\0'; text++) {
        int brk = *text == ' ' && column >= width;
        result[out++] = brk ? '\n' : *text;
        column = brk ? 0 : column + 1;
    }
    result[out] = '\0';
    return result;
}
