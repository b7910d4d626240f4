// More shapes of released programs: what was once a false alarm there, each with a twin that leaks.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int opaque(void);

// Makes a queue if there is none; the address of a member is one.
struct queue {
    int length;
};

struct request {
    int number;
    struct queue written, read;
};

static struct queue *queue_init(struct queue *queue)
{
    if (!queue)
        queue = calloc(1, sizeof *queue); // alloc @queue
    if (!queue)
        abort();
    queue->length = 1;
    return queue;
}

void request_init_good(struct request *request)
{
    queue_init(&request->written);
    queue_init(&request->read);
}

void request_init_bad(void)
{
    queue_init(NULL); // leak @queue
}

// The size of a page is never 0, so that the second turn unmaps.
struct map {
    char *start;
    size_t length;
};

static int map_open(struct map *map)
{
    size_t page = 0, size = 0;
    map->start = NULL;
    for (;;) {
        if (page == 0) {
            page = getpagesize();
            size = page;
        } else {
            size *= 2;
            if (map->start)
                munmap(map->start, map->length);
        }
        map->start = mmap(NULL, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); // alloc @map
        if (map->start == MAP_FAILED)
            return -1;
        map->length = size;
        if (opaque())
            return 0;
    }
}

int map_good(void)
{
    struct map map;
    if (map_open(&map) < 0)
        return -1;
    munmap(map.start, map.length);
    return 0;
}

int map_bad(void)
{
    struct map map;
    if (map_open(&map) < 0)
        return -1;
    return map.length > 9; // leak @map: map.start
}

// One of two numbers is not 0, if they are not 0 together.
int either_good(int plain, int folded, char **out)
{
    char *table = plain | folded ? NULL : malloc(256);
    if (plain)
        return 0;
    *out = table;
    return 1;
}

int either_bad(int plain, int folded, char **out)
{
    char *table = plain & folded ? NULL : malloc(256); // alloc @either
    if (plain)
        return 0; // leak @either: table
    *out = table;
    return 1;
}

// A name is compared twice, and stays as it was.
struct entry {
    const char *name;
    FILE *file;
};

int compared_good(struct entry *entry)
{
    char line[80];
    FILE *file = stdin;
    if (strcmp(entry->name, "-"))
        file = fopen(entry->name, "r");
    if (!file)
        return -1;
    fgets(line, sizeof line, file);
    if (strcmp(entry->name, "-"))
        fclose(file);
    return 0;
}

int compared_bad(struct entry *entry)
{
    char line[80];
    FILE *file = stdin;
    if (strcmp(entry->name, "-"))
        file = fopen(entry->name, "r"); // alloc @compared
    if (!file)
        return -1;
    fgets(line, sizeof line, file);
    if (strcmp(entry->name, "+"))
        fclose(file);
    return 0; // leak @compared: file
}

// A field of a text's first letter.
static char *text_or_copy(const char *text)
{
    return text[0] == '-' ? malloc(9) : NULL; // alloc @letter
}

void letter_good(void)
{
    text_or_copy("+x");
}

void letter_bad(void)
{
    text_or_copy("-x"); // leak @letter
}

// Where an entry was found already, the place to insert it is not set, and nothing is inserted.
struct table {
    void **cells;
    size_t size, load;
};

struct insertion {
    struct table *table;
    void **cell;
};

static int find(struct table *table, size_t hash, struct insertion *to)
{
    if (table->cells && table->cells[hash % table->size])
        return 1;
    to->table = table;
    to->cell = table->cells ? &table->cells[hash % table->size] : NULL;
    return 0;
}

static void **insert(struct insertion *to, void *data)
{
    struct table *table = to->table;
    if (!to->cell) {
        table->size = 16;
        table->cells = calloc(table->size, sizeof *table->cells); // alloc @insert
        if (!table->cells)
            abort();
        to->cell = table->cells;
    }
    *to->cell = data;
    table->load++;
    return to->cell;
}

static struct table reserved;

void insert_good(void **names)
{
    for (; *names; names++) {
        struct insertion to = {NULL, NULL};
        find(&reserved, (size_t)*names, &to);
        insert(&to, *names);
    }
}

void insert_bad(void *name)
{
    struct table own = {NULL, 0, 0};
    struct insertion to = {NULL, NULL};
    find(&own, (size_t)name, &to);
    insert(&to, name);
} // leak @insert: own.cells

// A ring of which the first element knows the last. That it does not is never so; who added says that it did.
struct item {
    struct item *next, *prev, *child;
};

static int append(struct item *array, struct item *item)
{
    struct item *child;
    if (!item || !array || array == item)
        return 0;
    child = array->child;
    if (!child) {
        array->child = item;
        item->prev = item;
    } else if (child->prev) {
        child->prev->next = item;
        item->prev = child->prev;
        child->prev = item;
    }
    return 1;
}

void append_good(struct item *array)
{
    struct item *item = calloc(1, sizeof *item);
    if (!append(array, item))
        free(item);
}

void append_bad(struct item *array)
{
    struct item *item = calloc(1, sizeof *item); // alloc @append
    append(array, item);
} // leak @append: item

// A list's element that was found is not null, whichever it is: only null says that there is no text.
struct property {
    struct property *next;
    const char *text;
    int length, id;
};

static const struct property *find_property(const struct property *list, int id)
{
    for (const struct property *at = list; at; at = at->next)
        if (at->id == id)
            return at;
    return NULL;
}

static const struct property *read_text(const struct property *list, int id, char **text)
{
    const struct property *found = find_property(list, id);
    if (!found)
        return NULL;
    *text = calloc(1, found->length + 1); // alloc @text
    if (!*text)
        return NULL;
    memcpy(*text, found->text, found->length);
    return found;
}

int property_good(const struct property *list)
{
    char *text = NULL;
    if (read_text(list, 3, &text) == NULL)
        return -1;
    free(text);
    return 0;
}

int property_bad(const struct property *list)
{
    char *text = NULL;
    if (read_text(list, 3, &text) != NULL)
        return -1; // leak @text: text
    free(text);
    return 0;
}

// Bits of an argument say whether the program goes on.
enum { FATAL = 1, PLAIN = 2 };
#define SAYS(what, bits) (((what) & (bits)) == (bits))

static void complain(int what, const char *text)
{
    fprintf(stderr, "%s%s\n", SAYS(what, PLAIN) ? "" : "program: ", text);
    if (SAYS(what, FATAL))
        exit(1);
}

struct text {
    char *at;
    size_t length;
};

static void *larger(void *old, size_t size)
{
    void *result = realloc(old, size);
    if (!result)
        complain(FATAL, "no memory");
    return result;
}

static void *larger_if_it_can(void *old, size_t size)
{
    void *result = realloc(old, size);
    if (!result)
        complain(PLAIN, "no memory");
    return result;
}

void grown_good(void)
{
    struct text text = {malloc(8), 8};
    if (!text.at)
        return;
    text.at = larger(text.at, 16);
    free(text.at);
}

void grown_bad(void)
{
    struct text text = {malloc(8), 8}; // alloc @grown
    if (!text.at)
        return;
    text.at = larger_if_it_can(text.at, 16); // leak @grown: text.at
    free(text.at);
}

// Where the program ends next, nothing is lost.
static FILE *draft_good(char *name)
{
    int descriptor = mkstemp(name);
    if (descriptor < 0)
        return NULL;
    FILE *stream = fdopen(descriptor, "w+");
    if (!stream)
        complain(FATAL | PLAIN, name);
    return stream;
}

static FILE *draft_bad(char *name)
{
    int descriptor = mkstemp(name); // alloc @draft
    if (descriptor < 0)
        return NULL;
    FILE *stream = fdopen(descriptor, "w+");
    if (!stream)
        complain(PLAIN, name);
    return stream; // leak @draft: descriptor
}

void draft(void)
{
    char name[] = "/tmp/XXXXXX";
    FILE *good = draft_good(name), *bad = draft_bad(name);
    if (good)
        fclose(good);
    if (bad)
        fclose(bad);
}

void failed_good(int count)
{
    if (count) {
        char *own = malloc(8);
        if (!own)
            return;
        fgets(own, 8, stdin);
    }
    if (opaque())
        puts("failed");
    exit(1);
}

void done_bad(int count)
{
    if (count) {
        char *own = malloc(8); // alloc @done
        if (!own)
            return;
        fgets(own, 8, stdin);
    } // leak @done: own
    if (opaque())
        puts("done");
    exit(0);
}

// A stream that could not be made is not used.
FILE *numbered_good(int *number)
{
    int ends[2];
    if (pipe(ends) < 0)
        return NULL;
    FILE *stream = fdopen(ends[0], "r");
    close(ends[1]);
    *number = fileno(stream);
    return stream;
}

FILE *numbered_bad(int *number)
{
    int ends[2];
    if (pipe(ends) < 0) // alloc @numbered
        return NULL;
    FILE *stream = fdopen(ends[0], "r");
    close(ends[1]);
    *number = stream ? fileno(stream) : -1;
    return stream; // leak @numbered: ends[0]
}

// Nothing is copied to where there is nothing.
void appended_good(struct text *text, const char *more, size_t length)
{
    char *own = malloc(8);
    if (!own)
        return;
    own = realloc(own, 8 + length);
    memcpy(own + text->length, more, length);
    free(text->at);
    text->at = own;
}

void appended_bad(struct text *text, const char *more, size_t length)
{
    char *own = malloc(8); // alloc @appended
    if (!own)
        return;
    own = realloc(own, 8 + length); // leak @appended: own
    if (own)
        memcpy(own + text->length, more, length);
    free(text->at);
    text->at = own;
}

// A number that is made a pointer by a distance from the null pointer is one.
#define ALIGNED(address) ((char *)0 + (((address) - (char *)0 + 15) & ~15L))

void aligned_bad(struct text *text)
{
    char *own = malloc(8); // alloc @aligned
    if (!own)
        return;
    char *to = ALIGNED(text->at);
    memcpy(to, own, text->length);
} // leak @aligned: own
