// Blocks that libc allocates on the caller's behalf: the place is the caller's own line.
// stdin: host alpha port 80
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

static void read_config(void) {
    char *line = NULL;
    size_t capacity = 0;

    if (getline(&line, &capacity, stdin) < 0)                   // lost: 1 block, 120 bytes
        exit(1);
    char *host = strndup(line + 5, 5);                          // lost: 1 block, 6 bytes
    char *title = NULL;
    if (asprintf(&title, "%s:%d", host, atoi(line + 16)) < 0)   // lost: 1 block, 9 bytes
        exit(1);
    if (strcmp(title, "alpha:80") != 0)
        exit(2);
    line = host = title = NULL;
}

static void describe(const char *name) {
    char *copy = strdup(name);                                  // lost: 1 block, 14 bytes
    wchar_t *wide = wcsdup(L"gateway");                         // lost: 1 block, 32 bytes
    char *text = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&text, &length);

    fprintf(stream, "%s %ls", copy, wide);
    fclose(stream);
    if (length != 21)
        exit(3);
    free(text);
    copy = NULL;
    wide = NULL;
}

int main(void) {
    read_config();
    describe("router-in-lab");
    char *here = realpath("/", NULL);
    free(here);
    return 0;
}
