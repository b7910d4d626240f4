#ifndef ARCHIVE_H
#define ARCHIVE_H

#include <stddef.h>

struct archive;

struct archive *archive_open(const char *path);
int archive_add(struct archive *archive, const char *name, const char *content);
size_t archive_size(const struct archive *archive);
void archive_close(struct archive *archive);

#endif
