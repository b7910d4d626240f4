// What elements own, in a library: nobody here knows what its users do, but who releases some of an element's members
// is to release all.
#include <stdlib.h>
#include <string.h>

struct series {
    char *name;
    int *values;
    size_t count;
    struct series *next;
};

static void *grown(void *block, size_t count, size_t size)
{
    if (size != 0 && count > (size_t)-1 / size)
        return NULL;
    return realloc(block, count * size); // alloc @values
}

struct series *series_new(const char *name)
{
    struct series *series = calloc(1, sizeof *series);
    if (series)
        series->name = strdup(name);
    return series;
}

int series_add(struct series *series, int value)
{
    int *values = grown(series->values, series->count + 1, sizeof *values);
    if (!values)
        return -1;
    series->values = values;
    series->values[series->count++] = value;
    return 0;
}

void series_free_bad(struct series *series)
{
    free(series->name);
    free(series); // leak @values: series->values
}

struct point {
    int *weights;
    struct point *next;
};

int point_add(struct point *point, int weight)
{
    int *weights = grown(point->weights, 4, sizeof *weights);
    if (!weights)
        return -1;
    weights[0] = weight;
    point->weights = weights;
    return 0;
}

// Weights may be what users took before.
void points_free_silent(struct point *point)
{
    while (point) {
        struct point *next = point->next;
        free(point);
        point = next;
    }
}

struct key {
    char *text, *hash;
};

int key_set(struct key *key, const char *text)
{
    key->text = strdup(text);
    key->hash = strdup("");
    return key->text && key->hash;
}

char *key_hash(const struct key *key)
{
    return key->hash;
}

// Whoever asked for the hash has it.
void key_free_silent(struct key *key)
{
    free(key->text);
    free(key);
}

struct reader {
    char *path, *line;
};

static int reader_init(struct reader **reader, const char *path)
{
    *reader = calloc(1, sizeof(struct reader));
    if (!*reader)
        return -1;
    if (!path[0]) {
        free(*reader);
        return -1;
    }
    return 0;
}

// One that has just been made has no line yet.
int reader_open(struct reader **reader, const char *path)
{
    if (reader_init(reader, path))
        return -1;
    if (path[0] == '/') {
        free(*reader);
        return -1;
    }
    return 0;
}

const char *reader_line(struct reader *reader)
{
    if (!reader->line)
        reader->line = malloc(100);
    return reader->line;
}

void reader_close(struct reader *reader)
{
    free(reader->line);
    free(reader);
}

struct header {
    char *long_name;
};

struct archive {
    char *path;
    struct header header;
};

int archive_name(struct archive *archive, const char *name)
{
    if (archive->header.long_name)
        free(archive->header.long_name);
    archive->header.long_name = NULL;
    if (name[0] == 0)
        return 0;
    archive->header.long_name = strdup(name); // alloc @long
    return archive->header.long_name != NULL;
}

int archive_path(struct archive *archive)
{
    if (!archive->path)
        archive->path = malloc(100);
    return archive->path != NULL;
}

// The name is released where the next one comes, the last one nowhere.
void archive_close_bad(struct archive *archive)
{
    free(archive->path);
    free(archive); // leak @long: archive->header.long_name
}

struct session {
    char *path, *buffer;
};

int session_start(struct session *session, const char *text)
{
    session->buffer = strdup(text);
    return session->buffer != NULL;
}

int session_path(struct session *session)
{
    if (!session->path)
        session->path = malloc(100);
    return session->path != NULL;
}

// Users stop it before they close it.
void session_stop(struct session *session)
{
    free(session->buffer);
    session->buffer = NULL;
}

void session_close(struct session *session)
{
    free(session->path);
    free(session);
}
