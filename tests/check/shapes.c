// What a case knows after a call, a join or a failure; each with a twin that leaks.
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int opaque(void);

// What a guard of the callee excludes is excluded of its result too.
static char *grown(char *text, size_t size)
{
    text = realloc(text, size);
    if (!text)
        abort();
    return text;
}

static char *temporary(FILE **stream, const char *folder)
{
    char *name = folder ? strdup(folder) : NULL;
    name = grown(name, 100);
    *stream = fopen(name, "w"); // alloc @stream
    if (!*stream) {
        free(name);
        return NULL;
    }
    return name;
}

void temporary_good(const char *folder)
{
    FILE *stream;
    char *name = temporary(&stream, folder);
    if (!name)
        return;
    fclose(stream);
    free(name);
}

void temporary_bad(const char *folder)
{
    FILE *stream;
    char *name = temporary(&stream, folder);
    if (!name)
        return;
    free(name);
} // leak @stream: stream

// A failed realloc after which the program ends loses nothing.
void resized_good(void)
{
    char *text = malloc(3);
    text = realloc(text, 100);
    if (!text)
        exit(1);
    free(text);
}

void resized_bad(void)
{
    char *text = malloc(3); // alloc @resized
    text = realloc(text, 100); // leak @resized: text
    if (!text)
        return;
    free(text);
}

// The loop was left by `break`, so there is an address.
int connected_good(struct addrinfo *all)
{
    int descriptor = -1;
    struct addrinfo *one;
    for (one = all; one; one = one->ai_next) {
        descriptor = socket(one->ai_family, one->ai_socktype, one->ai_protocol);
        if (descriptor == -1)
            continue;
        if (connect(descriptor, one->ai_addr, one->ai_addrlen) == -1) {
            close(descriptor);
            continue;
        }
        break;
    }
    if (!one)
        return -1;
    return descriptor;
}

// Functions of descriptors do not keep them.
int listening_bad(void)
{
    int descriptor = socket(AF_INET, SOCK_STREAM, 0); // alloc @listening
    if (descriptor < 0)
        return -1;
    if (listen(descriptor, 5) < 0)
        return -1; // leak @listening: descriptor
    close(descriptor);
    return 0;
}

// Bits of a field.
struct holder {
    unsigned is_owner : 1, is_other : 2;
    char *text;
};

static void holder_end(struct holder *holder)
{
    if (holder->is_owner)
        free(holder->text);
}

void holder_good(void)
{
    struct holder holder;
    holder.is_owner = 1;
    holder.is_other = 0;
    holder.text = strdup("a");
    holder_end(&holder);
}

void holder_bad(void)
{
    struct holder holder;
    holder.is_owner = 0;
    holder.is_other = 2;
    holder.text = strdup("a"); // alloc @holder
    holder_end(&holder);
} // leak @holder: holder.text

// Tables of functions.
struct operations {
    void (*finish)(char *text);
};

static void show(char *text)
{
    puts(text);
}

static void release(char *text)
{
    free(text);
}

static const struct operations showing = {show}, releasing = {release};

static void finish(const struct operations *operations, char *text)
{
    operations->finish(text);
}

void operations_good(void)
{
    char *text = strdup("a");
    if (text)
        finish(&releasing, text);
}

void operations_bad(void)
{
    char *text = strdup("a"); // alloc @operations
    if (text)
        finish(&showing, text);
} // leak @operations: text

// What a table held is in the larger one.
struct table {
    char **slots;
    size_t count;
};

static struct table table;

static void table_add(char *text)
{
    char **larger = malloc((table.count + 1) * sizeof *larger);
    if (!larger)
        abort();
    memcpy(larger, table.slots, table.count * sizeof *larger);
    free(table.slots);
    table.slots = larger;
    table.slots[table.count++] = text;
}

void table_good(void)
{
    char *first = strdup("a"), *second = strdup("b");
    if (!first || !second)
        abort();
    table_add(first);
    table_add(second);
}
