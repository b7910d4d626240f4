// Shapes that released programs have, reduced: what was once a false alarm or a miss there.
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// Words of a line: positions move through one buffer, and the array grows.
int split_good(const char *s, int count, char ***out)
{
    char **argv = malloc(8 * sizeof *argv);
    char **larger;
    int argc = 0, room = 8, result = -1;
    char *buffer, *start = NULL;
    if (argv == NULL)
        return result;
    buffer = start = calloc(1, strlen(s) + 1);
    if (buffer == NULL) {
        free(argv);
        return result;
    }
    argv[argc] = buffer;
    for (; *s; s++) {
        if (*s == ' ') {
            buffer++, argc++;
            if (argc == room) {
                room += 8;
                larger = realloc(argv, room * sizeof *argv);
                if (larger == NULL)
                    goto out;
                argv = larger;
            }
            argv[argc] = buffer;
        } else if (*s == '\\') {
            s++;
            if (!*s)
                goto out;
        } else {
            *buffer++ = *s;
        }
    }
    result = count;
    *out = NULL;
out:
    if (start)
        free(start);
    if (argv)
        free(argv);
    return result;
}

// A file is read whole, or nothing is.
int read_file_good(const char *name, char **out, size_t *length)
{
    char *text = NULL;
    off_t size = 0;
    int result = -1;
    int descriptor = open(name, O_RDONLY);
    if (descriptor < 0)
        goto out;
    if ((size = lseek(descriptor, 0, SEEK_END)) == (off_t)-1 || (text = calloc(1, (size_t)size + 1)) == NULL
        || read(descriptor, text, (size_t)size) != (ssize_t)size) {
        close(descriptor);
        goto out;
    }
    if (close(descriptor) == -1)
        goto out;
    result = 0;
out:
    if (result != 0) {
        if (text)
            free(text);
        text = NULL;
        size = 0;
    }
    if (out)
        *out = text;
    else if (text)
        free(text);
    if (length)
        *length = (size_t)size;
    return result;
}

int read_and_use_good(const char *name)
{
    char *text = NULL;
    size_t length = 0;
    int result;
    if ((result = read_file_good(name, &text, &length)) != 0)
        goto out;
    if (text == NULL || length == 0)
        goto out;
    puts(text);
out:
    if (text)
        free(text);
    return result;
}

int read_and_grow_bad(const char *name, const char *more)
{
    char *text = malloc(100); // alloc @grow
    if (text == NULL)
        return -1;
    strcpy(text, name);
    if (*more != '\0') {
        if ((text = realloc(text, 200)) == NULL) // leak @grow: text
            goto out;
        strcat(text, more);
    }
    puts(text);
out:
    if (text)
        free(text);
    return 0;
}

// The first of an array of arguments is ours, the rest are others'.
int execute_good(char *const *more, int count, const char *path)
{
    int argc = 0, result = -1;
    const char **argv = malloc((count + 2) * sizeof *argv);
    if (argv == NULL)
        return -1;
    if (path != NULL) {
        char *first = malloc(strlen(path) + 2);
        if (first)
            strcpy(first, path);
        argv[argc] = first;
    } else {
        argv[argc] = strdup("sh");
    }
    if (argv[argc++] == NULL)
        goto out;
    if (count > 0) {
        memcpy(argv + argc, more, count * sizeof *argv);
        argc += count;
    }
    argv[argc] = NULL;
    result = execvp(argv[0], (char *const *)argv);
out:
    if (argv) {
        if (argv[0])
            free((void *)argv[0]);
        free(argv);
    }
    return result;
}

// A name that is passed over is not released.
static int names_of(const char *pattern, int *count, char ***names)
{
    *count = 1;
    if ((*names = calloc(2, sizeof **names)) != NULL)
        (*names)[0] = strdup(pattern); // alloc @skipped; gap: what a loop passes over is not followed
    return 0;
}

int each_name_bad(const char *pattern)
{
    char **names = NULL;
    int count = 0;
    names_of(pattern, &count, &names);
    if (names == NULL)
        return -1;
    for (int i = 0; i < count; i++) {
        if (access(names[i], R_OK) != 0)
            continue;
        free(names[i]);
        names[i] = NULL;
    }
    free(names); // leak @skipped: ?
    return 0;
}

// The function that ends the program is the other half of a conditional.
static void *failed(void)
{
    fputs("out of memory\n", stderr);
    exit(1);
}

#define MUST(p) ((p) ?: failed())

char *must_good(const char *text)
{
    return strcpy(MUST(malloc(strlen(text) + 1)), text);
}

void must_bad(const char *text)
{
    char *copy = strcpy(MUST(malloc(strlen(text) + 1)), text); // alloc @must
    puts(copy);
} // leak @must: copy

// Left by goto from a scope within.
extern int look(void *);

int modes_good(const char *s)
{
    char *changes = malloc(10);
    if (!changes)
        return -1;
    for (; *s; s++) {
        int affected = 0;
        look(&affected);
        if (affected == 3)
            goto invalid;
        do {
            int octal = 0;
            look(&octal);
            if (octal > 7)
                goto invalid;
        } while (*++s);
    }
    free(changes);
    return 0;
invalid:
    free(changes);
    return -1;
}

struct node {
    struct node *next;
    int flags;
    char *word;
};

enum { WORD = 4 };

// A buffer that outlives the rounds of a loop.
int users_good(struct node *head)
{
    char *name = NULL;
    size_t size = 0;
    for (struct node *p = head; p; p = p->next) {
        size_t length = strlen(p->word) + 1;
        struct passwd *user;
        if (length > size) {
            char *larger = realloc(name, length);
            if (!larger) {
                free(name);
                return -1;
            }
            name = larger;
            size = length;
        }
        memcpy(name, p->word, length);
        user = getpwnam(name);
        if (!user)
            continue;
        p->flags = 1;
    }
    free(name);
    return 0;
}

// A pointer that is a number.
struct zone {
    struct zone *next;
};

#define LOCAL ((struct zone *)1)

static struct zone *zone_set(int how)
{
    if (how)
        return LOCAL;
    struct zone *zone = malloc(sizeof *zone);
    if (zone)
        zone->next = NULL;
    return zone;
}

static void zone_free(struct zone *zone)
{
    if (zone != LOCAL)
        while (zone) {
            struct zone *next = zone->next;
            free(zone);
            zone = next;
        }
}

static int zone_revert(struct zone *zone)
{
    if (zone == LOCAL)
        return 1;
    zone_free(zone);
    return 0;
}

int zone_good(int how)
{
    struct zone *old = zone_set(how);
    if (old && zone_revert(old))
        return 1;
    return 0;
}

// Tried again until it is there.
struct folder {
    DIR *stream;
    int descriptor;
    struct folder *parent;
};

static int recover(const struct folder *folder)
{
    if (folder->parent) {
        close(folder->parent->descriptor);
        return 1;
    }
    return 0;
}

DIR *again_good(struct folder *folder)
{
    while (!(folder->stream = fdopendir(folder->descriptor)))
        if (!recover(folder))
            return NULL;
    return folder->stream;
}

// A bit says that the word is on the heap.
static int node_set(struct node *node)
{
    char *word = malloc(10);
    if (!word)
        return -1;
    if (node->flags & WORD)
        free(node->word);
    node->word = word;
    node->flags |= WORD;
    return 0;
}

static void node_free(struct node *node)
{
    if (node->flags & WORD)
        free(node->word);
    free(node);
}

int bits_good(void)
{
    struct node *node = calloc(1, sizeof *node);
    if (!node)
        return -1;
    if (node_set(node)) {
        free(node);
        return -1;
    }
    node_free(node);
    return 0;
}

// The first three descriptors stay open on purpose.
int standard_good(void)
{
    for (int descriptor = 0; descriptor <= 2; descriptor++)
        if (fcntl(descriptor, F_GETFD) < 0) {
            int opened = open("/dev/null", O_RDONLY);
            if (opened < 0)
                return -1;
            if (2 < opened) {
                close(opened);
                return 0;
            }
        }
    return 0;
}

// A descriptor in a struct, replaced by the next one.
struct place {
    int descriptor;
};

static void place_free(const struct place *place)
{
    if (0 <= place->descriptor)
        close(place->descriptor);
}

static int place_advance(struct place *place, const char *name)
{
    int next = openat(place->descriptor, name, O_DIRECTORY); // alloc @place
    if (next < 0)
        return -1;
    place_free(place);
    place->descriptor = next;
    return 0;
}

int place_bad(char *name)
{
    struct place place = {AT_FDCWD};
    while (strlen(name) > 100) {
        char *slash = memrchr(name, '/', 100);
        if (!slash) {
            errno = ENAMETOOLONG;
            return -1; // leak @place: place.descriptor
        }
        *slash = 0;
        int error = place_advance(&place, name);
        *slash = '/';
        if (error != 0)
            goto fail;
        name = slash + 1;
    }
    if (fchdir(place.descriptor) != 0)
        goto fail;
    place_free(&place);
    return 0;
fail:
    place_free(&place);
    return -1;
}

// The line is forgotten when waiting fails.
int line_of_child_bad(FILE *from, int pid)
{
    char *line = NULL;
    size_t size = 0;
    ssize_t length = getline(&line, &size, from); // alloc @child
    if (length > 0 && line[length - 1] == '\n')
        line[--length] = 0;
    while (look(&pid) == -1)
        if (errno != EINTR)
            return -1; // leak @child: line
    puts(line);
    free(line);
    return 0;
}

// Elements are copied into an array by their bytes.
struct vector {
    char *elements;
    int used, room;
    size_t size;
};

static void vector_append(struct vector *vector, const void *from, int count)
{
    if (vector->used + count >= vector->room) {
        vector->room += count + 8;
        vector->elements = realloc(vector->elements, vector->room * vector->size);
        if (!vector->elements)
            abort();
    }
    memcpy(vector->elements + vector->used * vector->size, from, count * vector->size);
    vector->used += count;
}

void vector_good(struct vector *vector, const char *text)
{
    char *copy = strdup(text);
    vector_append(vector, &copy, 1);
}

// A static array that grows, by a function that ends the program instead of failing.
static void *resized(void *block, size_t size)
{
    block = realloc(block, size);
    if (block == NULL)
        failed();
    return block;
}

static int *keys;
static int *next_key;
static size_t room_for_keys = 32, waiting_keys;

static void reserve_keys(size_t size)
{
    keys = resized(keys, size * sizeof *keys);
    next_key = keys;
    room_for_keys = size;
}

void put_key_good(int key)
{
    if (next_key == keys) {
        if (waiting_keys == room_for_keys)
            reserve_keys(2 * room_for_keys);
        memmove(keys + 1, keys, waiting_keys * sizeof *keys);
    } else {
        next_key--;
    }
    *next_key = key;
    waiting_keys++;
}

int take_key(void)
{
    waiting_keys--;
    return *next_key++;
}

void put_keys_good(const char *text, int count)
{
    if (count > 3)
        put_key_good(7);
    for (int i = count - 1; i >= 0; i--)
        put_key_good(text[i]);
}

// Stored through a pointer into an array of the argument's.
struct setting {
    int key;
    union {
        void *pointer;
        unsigned number;
        const char *text;
    } value;
};

struct settings {
    int count;
    struct setting *list;
};

static void *parsed(const char *text, void *earlier)
{
    if (!earlier && !(earlier = strdup(text)))
        abort();
    return earlier;
}

int settings_good(struct settings *settings)
{
    for (int i = 0; i < settings->count; i++) {
        struct setting *setting = settings->list + settings->list[i].value.number;
        struct setting *once = NULL, *always = NULL;
        for (; setting->key != -1; setting++) {
            switch (setting->key) {
            case 0:
                once = setting;
                break;
            case 1:
                always = setting;
                break;
            }
        }
        void *made = NULL;
        if ((setting = once)) {
            setting->value.pointer = parsed(setting->value.text, made);
            made = setting->value.pointer;
        }
        if ((setting = always)) {
            setting->value.pointer = parsed(setting->value.text, made);
            made = setting->value.pointer;
        }
    }
    return 0;
}
