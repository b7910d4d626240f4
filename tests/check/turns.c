// Slots of tables that have their turn again and again, and members that are set
// to null.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// --- a table in which keys drive each other out

struct cached {
    char *key;
    char *value;
};

static struct cached cache[64];

static unsigned place_of(const char *key)
{
    unsigned sum = 0;
    while (*key)
        sum = sum * 33 + (unsigned char)*key++;
    return sum % 64;
}

void cache_put_bad(const char *key, const char *value)
{
    struct cached *cached = &cache[place_of(key)];
    cached->key = strdup(key);     // alloc @key; leak @key: cached->key
    cached->value = strdup(value); // alloc @value; leak @value: cached->value
}

int cache_length(const char *key)
{
    struct cached *cached = &cache[place_of(key)];
    return cached->key && strcmp(cached->key, key) == 0 ? (int)strlen(cached->value) : -1;
}

struct remembered {
    char *name;
    char *text;
};

static struct remembered remembered[64];

void remember_good(const char *name, const char *text)
{
    struct remembered *slot = &remembered[place_of(name)];
    free(slot->name);
    free(slot->text);
    slot->name = strdup(name);
    slot->text = strdup(text);
}

// The first free place is looked for.
struct word {
    char *letters;
    char *meaning;
};

static struct word words[64];

void add_word_good(const char *letters, const char *meaning)
{
    unsigned at = place_of(letters);
    while (words[at].letters)
        at = (at + 1) % 64;
    words[at].letters = strdup(letters);
    words[at].meaning = strdup(meaning);
}

int length_of_word(const char *letters)
{
    return words[place_of(letters)].meaning ? (int)strlen(words[place_of(letters)].meaning) : 0;
}

// Who takes from a ring makes room for who puts into it.
struct message {
    char *sender;
    int length;
};

static struct message ring[8];
static unsigned first, last;

void send_good(const char *sender)
{
    if (last - first == 8)
        return;
    ring[last % 8].sender = strdup(sender);
    ring[last++ % 8].length = (int)strlen(sender);
}

void receive_good(void)
{
    if (last == first)
        return;
    puts(ring[first % 8].sender);
    free(ring[first++ % 8].sender);
}

// --- members that are cleared

struct worker {
    char *task;
    char *note;
    char *place;
    int is_busy;
};

static struct worker workers[4];

int assign(const char *task)
{
    for (int i = 0; i < 4; i++)
        if (!workers[i].is_busy) {
            workers[i].is_busy = 1;
            workers[i].task = strdup(task); // alloc @task
            workers[i].note = strdup(task);
            workers[i].place = strdup(task);
            return i;
        }
    return -1;
}

static void show(const char *text)
{
    printf("<%s>\n", text);
}

void finish_bad(int i)
{
    struct worker *worker = &workers[i];
    show(worker->task);
    worker->task = NULL; // leak @task: worker->task
    worker->is_busy = 0;
}

void forget_note_good(int i)
{
    struct worker *worker = &workers[i];
    show(worker->note);
    free(worker->note);
    worker->note = NULL;
}

// Another has it.
char *take_place_good(int i)
{
    char *place = workers[i].place;
    return place;
}

void place_taken_good(int i)
{
    show(workers[i].place);
    workers[i].place = NULL;
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        cache_put_bad(argv[i], argv[0]);
        remember_good(argv[i], argv[0]);
        add_word_good(argv[i], argv[0]);
        send_good(argv[i]);
        int worker = assign(argv[i]);
        if (worker >= 0) {
            finish_bad(worker);
            forget_note_good(worker);
            free(take_place_good(worker));
            place_taken_good(worker);
        }
    }
    receive_good();
    puts(remembered[0].name ? remembered[0].text : "");
    return length_of_word(argv[0]) + cache_length(argv[0]);
}
