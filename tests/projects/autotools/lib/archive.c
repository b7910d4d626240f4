#include "config.h"

#include "archive.h"
#include "codec.h"

#include <stdlib.h>
#include <string.h>

struct member {
    char *name;
    unsigned char *bytes;
    size_t size;
};

struct archive {
    char *path;
    struct member *members;
    size_t count;
};

struct archive *archive_open(const char *path) {
    struct archive *archive = calloc(1, sizeof *archive);

    archive->path = strdup(path);
    return archive;
}

int archive_add(struct archive *archive, const char *name, const char *content) {
    size_t size;
    unsigned char *bytes = encode_runs((const unsigned char *)content, strlen(content), &size);

    if (size > strlen(content))
        return -1;
    archive->members = realloc(archive->members, (archive->count + 1) * sizeof *archive->members);
    archive->members[archive->count++] = (struct member){strdup(name), bytes, size};
    return 0;
}

size_t archive_size(const struct archive *archive) {
    size_t total = 0;
    for (size_t i = 0; i < archive->count; i++)
        total += archive->members[i].size;
    return total;
}

void archive_close(struct archive *archive) {
    for (size_t i = 0; i < archive->count; i++)
        free(archive->members[i].bytes);
    free(archive->members);
    free(archive->path);
    free(archive);
}
