// What sums, products and the order of numbers say, and what library functions
// do with null pointers: false alarms of released programs, each with a twin that leaks.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct text {
    char *at;
    int used, room;
};

// Who writes to nothing does not come back.
static void add_good(struct text *text, int number)
{
    int wanted = 100;
    if (text->room <= text->used + wanted)
        text->at = realloc(text->at, text->room = 100 + wanted + text->used);
    text->used += snprintf(text->at + text->used, text->room - text->used, "%d", number);
}

int numbers_good(int first, int second)
{
    struct text text = {malloc(8), 0, 8};
    if (!text.at)
        return -1;
    add_good(&text, first);
    add_good(&text, second);
    int used = text.used;
    free(text.at);
    return used;
}

static int add_bad(struct text *text, int number)
{
    text->at = realloc(text->at, text->room = text->used + 100); // leak @number: text->at
    if (!text->at)
        return -1;
    text->used += snprintf(text->at + text->used, text->room - text->used, "%d", number);
    return 0;
}

int numbers_bad(int first)
{
    struct text text = {malloc(8), 0, 8}; // alloc @number
    if (!text.at)
        return -1;
    if (add_bad(&text, first) < 0)
        return -1;
    int used = text.used;
    free(text.at);
    return used;
}

// It may be asked for the length alone, also through others.
static int printed(char *to, size_t room, int number)
{
    return snprintf(to, room, "%d", number);
}

char *measured_bad(int number)
{
    char *copy = strdup("x"); // alloc @measured
    if (printed(NULL, 0, number) > 5)
        return NULL; // leak @measured: copy
    return copy;
}

char *measured_good(int number)
{
    char *copy = strdup("x");
    if (printed(NULL, 0, number) > 5) {
        free(copy);
        return NULL;
    }
    return copy;
}

char *doubled_good(const char *text)
{
    char *own = strdup(text);
    if (!own)
        return NULL;
    own = realloc(own, 2 * strlen(text) + 1);
    strcat(own, text);
    return own;
}

char *doubled_bad(const char *text)
{
    char *own = strdup(text); // alloc @doubled
    if (!own)
        return NULL;
    own = realloc(own, 2 * strlen(text) + 1); // leak @doubled: own
    if (own)
        strcat(own, text);
    return own;
}

// A sum of lengths that is not empty is never zero.
char *words_good(FILE *from)
{
    char *all = NULL, word[51];
    size_t size = 0;
    while (fscanf(from, "%50s", word) == 1) {
        char *before = all;
        size_t length = strlen(word);
        if (size == 0) {
            size = length + 1;
            all = malloc(size);
        } else {
            size += length + 1;
            all = realloc(all, size);
        }
        if (!all) {
            free(before);
            return NULL;
        }
        strcpy(all + size - length - 1, word);
    }
    return all;
}

char *words_bad(FILE *from)
{
    char *all = NULL, word[51];
    size_t size = 0;
    while (fscanf(from, "%50s", word) == 1) {
        size_t length = strlen(word);
        if (size == 0) {
            size = length;
            all = malloc(size + 1); // alloc @words; leak @words: all
        } else {
            size += length;
            char *more = realloc(all, size + 1);
            if (!more) {
                free(all);
                return NULL;
            }
            all = more;
        }
        if (!all)
            return NULL;
        strcpy(all + size - length, word);
    }
    return all;
}

// Nor is a product of what is not.
static void *grown(void *table, size_t *count, size_t size)
{
    size_t number = *count;
    if (!table)
        number = number ? number : 16;
    else
        number += number / 2 + 1;
    *count = number;
    if (number * size == 0 && table) {
        free(table);
        return NULL;
    }
    table = realloc(table, number * size);
    if (!table)
        abort();
    return table;
}

static void names_free(char **names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(names[i]);
    free(names);
}

int names_good(FILE *from, int before)
{
    if (before < 0)
        before = 0;
    size_t used = before, count = before;
    char **names = calloc(count, sizeof *names), word[51];
    while (fscanf(from, "%50s", word) == 1) {
        if (used == count)
            names = grown(names, &count, sizeof *names);
        names[used++] = strdup(word);
    }
    names_free(names, used);
    return 0;
}

// What a place in a text is, is not null, whichever text it is.
static char *behind(char *text, char **name)
{
    char *at = text;
    *name = NULL;
    while (*at && *at != ':')
        at++;
    if (!*at)
        return NULL;
    *name = strndup(text, at - text); // alloc @name
    if (!*name)
        abort();
    return at + 1;
}

size_t rest_good(char **texts, int count)
{
    char dot[] = ".:x", *name, *text = count > 1 ? texts[count - 1] : dot, *rest;
    rest = behind(text, &name);
    if (!rest)
        return 0;
    free(name);
    return strlen(rest);
}

size_t rest_bad(char **texts, int count)
{
    char dot[] = ".:x", *name, *text = count > 1 ? texts[count - 1] : dot, *rest;
    rest = behind(text, &name);
    if (!rest)
        return 0;
    return strlen(rest); // leak @name: name
}

struct entry {
    int number;
};

// A loop between two numbers runs if the second is larger.
static struct entry *entry_new(struct entry **table, unsigned begin, unsigned end)
{
    struct entry *entry = malloc(sizeof *entry); // alloc @same; alloc @sum
    if (!entry)
        abort();
    for (unsigned i = begin; i < end; i++)
        table[i] = entry;
    return entry;
}

void larger_good(struct entry **table, unsigned begin, unsigned end)
{
    if (end < begin)
        abort();
    if (end == begin)
        return;
    struct entry *entry = entry_new(table, begin, end);
    entry->number = 1;
}

void larger_bad(struct entry **table, unsigned begin, unsigned end)
{
    if (end < begin)
        abort();
    struct entry *entry = entry_new(table, begin, end);
    entry->number = 1;
} // leak @same: entry

void behind_good(struct entry **table, unsigned begin, const char *name)
{
    struct entry *entry = entry_new(table, begin, begin + strlen(name) + 1);
    entry->number = 1;
}

void behind_bad(struct entry **table, unsigned begin, const char *name)
{
    struct entry *entry = entry_new(table, begin, begin + strlen(name));
    entry->number = 1;
} // leak @sum: entry

struct notes {
    char **texts;
    int count, room;
};

static void *resized(void *old, size_t size, size_t count)
{
    if (count == 0) {
        free(old);
        return NULL;
    }
    void *larger = realloc(old, size * count);
    if (!larger)
        abort();
    return larger;
}

// Twice what is not 0 is not 0: the texts stay.
static void note_add(struct notes *notes, const char *text)
{
    char *copy = strdup(text); // alloc @note
    if (!copy)
        abort();
    if (notes->count >= notes->room) {
        if (notes->room)
            notes->room *= 2;
        else
            notes->room = 2;
        notes->texts = resized(notes->texts, sizeof *notes->texts, notes->room);
    }
    if (!notes->texts) {
        free(copy);
        return;
    }
    notes->texts[notes->count++] = copy;
}

static void notes_free(struct notes *notes)
{
    for (int i = 0; i < notes->count; i++)
        free(notes->texts[i]);
    free(notes->texts);
}

void notes_good(char **texts)
{
    struct notes notes = { NULL, 0, 0 };
    for (; *texts; texts++)
        note_add(&notes, *texts);
    notes_free(&notes);
}

void notes_bad(char **texts)
{
    struct notes notes = { NULL, 0, 0 };
    for (; *texts; texts++)
        note_add(&notes, *texts);
    free(notes.texts); // leak @note: ?
}
