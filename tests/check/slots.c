// Calls of functions in members of records, of objects that were found in
// memory: what the program puts there tells what becomes of arguments.

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct stream;

struct operations {
    long (*read)(struct stream *stream, void *to, size_t bytes);
    int (*note)(const char *text, int level);
    int (*keep)(struct stream *stream, char *text);
    void (*end)(struct stream *stream, void *text);
};

struct stream {
    const struct operations *operations;
    int descriptor;
    char *kept;
    struct stream *next;
};

static long read_descriptor(struct stream *stream, void *to, size_t bytes)
{
    return read(stream->descriptor, to, bytes);
}

static long read_zeroes(struct stream *stream, void *to, size_t bytes)
{
    memset(to, stream->descriptor, bytes);
    return (long)bytes;
}

static int note_error(const char *text, int level)
{
    return (int)write(2, text, strlen(text)) + level;
}

static int note_nothing(const char *text, int level)
{
    return text ? level : -1;
}

static int keep_it(struct stream *stream, char *text)
{
    free(stream->kept);
    stream->kept = text;
    return 0;
}

static int refuse_it(struct stream *stream, char *text)
{
    return stream->kept && *text ? -1 : 1;
}

static void end_it(struct stream *stream, void *text)
{
    stream->descriptor = -1;
    free(text);
}

static const struct operations of_files = { read_descriptor, note_error, keep_it, end_it };
static const struct operations of_nothing = { read_zeroes, note_nothing, refuse_it, end_it };

static struct stream *streams;

int add_stream(int descriptor)
{
    struct stream *stream = calloc(1, sizeof *stream);
    if (!stream)
        return -1;
    stream->descriptor = descriptor;
    stream->operations = descriptor < 0 ? &of_nothing : &of_files;
    stream->next = streams;
    streams = stream;
    return 0;
}

int first_byte_bad(void)
{
    char *bytes = malloc(100); // alloc @read
    if (!bytes || !streams)
        return free(bytes), -1;
    if (streams->operations->read(streams, bytes, 100) < 1)
        return -1; // leak @read: bytes
    int first = bytes[0];
    free(bytes);
    return first;
}

int first_byte_good(void)
{
    char *bytes = malloc(100);
    if (!bytes || !streams)
        return free(bytes), -1;
    int first = -1;
    if (streams->operations->read(streams, bytes, 100) >= 1)
        first = bytes[0];
    free(bytes);
    return first;
}

int note_copy_bad(const char *text)
{
    char *copy = strdup(text); // alloc @note
    if (!copy)
        return -1;
    for (struct stream *stream = streams; stream; stream = stream->next)
        stream->operations->note(copy, 1);
    return 0; // leak @note: copy
}

int note_copy_good(const char *text)
{
    char *copy = strdup(text);
    if (!copy)
        return -1;
    for (struct stream *stream = streams; stream; stream = stream->next)
        stream->operations->note(copy, 1);
    free(copy);
    return 0;
}

// One of the functions keeps it.
int keep_copy_good(const char *text)
{
    if (!streams)
        return -1;
    char *copy = strdup(text);
    return copy ? streams->operations->keep(streams, copy) : -1;
}

// It is released there.
void end_copy_good(const char *text)
{
    char *copy = strdup(text);
    if (streams)
        streams->operations->end(streams, copy);
    else
        free(copy);
}

// --- a member that users of the library fill

struct parser {
    void (*word)(void *context, char *word);
    void *context;
};

static void no_word(void *context, char *word)
{
    (void)context, (void)word;
}

static struct parser current = { no_word, NULL };

void on_word(struct parser *parser, void (*word)(void *context, char *word), void *context)
{
    parser->word = word;
    parser->context = context;
}

struct parser *current_parser(void)
{
    return &current;
}

void parse_good(struct parser *parser, const char *text)
{
    parser->word(parser->context, strdup(text));
}
