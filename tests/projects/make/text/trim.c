#include "notes.h"

#include <ctype.h>
#include <string.h>

char *trimmed(const char *text) {
    while (isspace((unsigned char)*text))
        text++;
    size_t length = strlen(text);
    while (length > 0 && isspace((unsigned char)text[length - 1]))
        length--;
    return strndup(text, length);
}
