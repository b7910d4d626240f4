// Reading fails where the file would have ended: the object is lost on that path only.
#include <stdio.h>
#include <stdlib.h>

static char *content(FILE *file) {
    char *buffer = malloc(32); // @failed MA; @whole MA
    if (!buffer)
        return NULL;
    size_t size = fread(buffer, 1, 31, file);
    if (ferror(file))
        return NULL; // @failed LK = must-leak
    buffer[size] = '\0';
    return buffer; // @whole LK = likely-not-leak
}

int main(void) {
    char *text = content(stdin);
    if (text)
        puts(text);
    free(text);
    return 0;
}
