// State between calls: what objects of the caller, contexts of callbacks and
// variables of the program hold when they are written to again.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct settings {
    char *name;
    char *path;
    char *host;
    char *first;
    char *flagged;
    int has_flag;
};

// --- members of what a procedure was given, written over by its callees

static int set_name(struct settings *settings, const char *value)
{
    settings->name = strdup(value); // alloc @setter; leak @setter: settings->name
    return settings->name ? 0 : -1;
}

int read_names_bad(struct settings *settings, const char **values)
{
    for (; *values; values++)
        if (set_name(settings, *values))
            return -1;
    return 0;
}

static int set_path(struct settings *settings, const char *value)
{
    settings->path = strdup(value); // alloc @twice; leak @twice: settings->path
    return 0;
}

void both_bad(struct settings *settings)
{
    set_path(settings, "here");
    set_path(settings, "there");
}

static int set_host(struct settings *settings, const char *value)
{
    free(settings->host);
    settings->host = strdup(value);
    return settings->host ? 0 : -1;
}

static void set_first(struct settings *settings, const char *value)
{
    if (!settings->first)
        settings->first = strdup(value);
}

static void set_flagged(struct settings *settings, const char *value)
{
    if (settings->has_flag)
        free(settings->flagged);
    settings->flagged = strdup(value);
    settings->has_flag = 1;
}

int read_hosts_good(struct settings *settings, const char **values)
{
    for (; *values; values++) {
        set_first(settings, *values);
        set_flagged(settings, *values);
        if (set_host(settings, *values))
            return -1;
    }
    return 0;
}

static void set_moved(struct settings *settings, const char *value)
{
    settings->name = strdup(value);
}

void read_moved_good(struct settings *settings, const char **values, char **names)
{
    for (; *values; values++) {
        set_moved(settings, *values);
        *names++ = settings->name;
    }
}

// --- contexts of callbacks

typedef int (*visitor)(void *context, const char *word);

static int visit(const char **words, visitor each, void *context)
{
    for (; *words; words++)
        if (each(context, *words))
            return -1;
    return 0;
}

struct found {
    int count;
    char *last;
};

static int keep_last(void *context, const char *word)
{
    struct found *found = context;
    found->count++;
    found->last = strdup(word); // alloc @visited; leak @visited: found->last
    return 0;
}

static int keep_first(void *context, const char *word)
{
    struct found *found = context;
    if (!found->count++)
        found->last = strdup(word);
    return 0;
}

static int keep_latest(void *context, const char *word)
{
    struct found *found = context;
    free(found->last);
    found->last = strdup(word);
    return found->last == NULL;
}

int last_bad(const char **words)
{
    struct found found = { 0, NULL };
    visit(words, keep_last, &found);
    int length = found.last ? (int)strlen(found.last) : 0;
    free(found.last);
    return length;
}

int latest_good(const char **words)
{
    struct found found = { 0, NULL };
    visit(words, keep_latest, &found);
    free(found.last);
    found = (struct found){ 0, NULL };
    visit(words, keep_first, &found);
    free(found.last);
    return 0;
}

// --- variables of the program

static char *output, *input;

static void set_output(const char *name)
{
    output = strdup(name); // alloc @output; leak @output: output
}

static void set_input(const char *name)
{
    free(input);
    input = strdup(name);
}

static const char *number_bad(int number)
{
    static char *text;
    text = malloc(32); // alloc @static; leak @static: text
    if (text)
        snprintf(text, 32, "%d", number);
    return text;
}

static const char *number_good(int number)
{
    static char *text;
    if (!text)
        text = malloc(32);
    if (text)
        snprintf(text, 32, "%d", number);
    return text;
}

static char *left;

void left_bad(int number)
{
    left = malloc(32); // alloc @left
    if (left)
        snprintf(left, 32, "%d", number);
    puts(left);
    left = strdup("none"); // leak @left: left
    puts(left);
}

// --- elements that are found or made

struct entry {
    struct entry *next;
    char *key, *value, *note;
};

static struct entry *entries;

static struct entry *find(const char *key)
{
    for (struct entry *entry = entries; entry; entry = entry->next)
        if (strcmp(entry->key, key) == 0)
            return entry;
    return NULL;
}

void put_bad(const char *key, const char *value)
{
    struct entry *entry = find(key);
    if (!entry) {
        entry = calloc(1, sizeof *entry);
        entry->key = strdup(key);
        entry->next = entries;
        entries = entry;
    }
    if (entry->note)
        free(entry->note);
    entry->note = strdup(value);
    entry->value = strdup(value); // alloc @put; leak @put: entry->value
}

void clear(void)
{
    while (entries) {
        struct entry *next = entries->next;
        free(entries->key);
        free(entries->value);
        free(entries->note);
        free(entries);
        entries = next;
    }
}

int main(int argc, char **argv)
{
    for (int index = 1; index < argc; index++) {
        set_output(argv[index]);
        set_input(argv[index]);
        puts(output);
        puts(input);
        puts(number_bad(index));
        puts(number_good(index));
        put_bad(argv[index], argv[0]);
    }
    left_bad(argc);
    struct entry *entry = find(argv[0]);
    if (entry)
        printf("%s %s\n", entry->value, entry->note);
    clear();
    return 0;
}
