// Idioms of released programs, and what only the whole program tells: what no
// caller passes, what a function never returns, tables that nobody changes.

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern int condition(void);

// An argument that every caller has.

struct session { char *name; };

static struct session *connect_good(struct session *session)
{
    if (session == NULL)
        session = calloc(1, sizeof *session);
    return condition() ? session : NULL;
}

int reconnect_good(struct session *session)
{
    session->name = NULL;
    return connect_good(session) == NULL;
}

// Never null, though the cycle is not followed to the end.

struct option { struct option *next; char *value; };
static struct option *options;
static struct option *default_option(int depth);

static void fill_option(struct option *option, int depth)
{
    if (depth > 0)
        option->next = default_option(depth - 1);
}

static struct option *default_option(int depth)
{
    struct option *option = calloc(1, sizeof *option);
    if (option == NULL)
        exit(1);
    option->next = options;
    options = option;
    fill_option(option, depth);
    return option;
}

int set_option_good(const char *text)
{
    char *value = strdup(text);
    struct option *option = default_option(3);
    if (option == NULL)
        return -1;
    option->value = value;
    return 0;
}

// Two ways to nothing, which the caller excludes.

struct client { unsigned flags; void *files; };
struct file { struct client *client; };

static struct file *create_file(struct client *client)
{
    struct file *file;
    if (client != NULL && (client->flags & 8))
        client = NULL;
    file = calloc(1, sizeof *file);          // alloc
    if (file == NULL)
        exit(1);
    file->client = client;
    if (client != NULL)
        client->files = file;
    return file;
}

void print_good(struct client *client)
{
    if (client == NULL || (client->flags & 8))
        return;
    create_file(client)->client->flags |= 1;
}

void print_bad(struct client *client)
{
    struct file *file;
    if (client == NULL)
        return;
    file = create_file(client);
    file->client = client;
}                                            // leak: file

// The next descriptor takes the place of a standard one.

void reopen_good(int from)
{
    close(0);
    if (open("/dev/tty", O_RDONLY) < 0)
        dup(from);
}

void reopen_bad(int from)
{
    close(from);
    dup(from);                               // leak @dup; alloc @dup
}

void fill_standard_good(void)
{
    for (int i = 0; i < 3; i++)
        open("/dev/null", O_RDWR);
}

// The program ends where nothing could be opened.

static int channel = -1;

void open_or_end_good(const char *name)
{
    channel = open(name, O_RDONLY);
    if (channel != -1 && condition())
        channel = -1;
    if (channel == -1)
        exit(1);
}

// A block that is cut into pieces.

struct piece { struct piece *next; };
static struct piece *pieces;

static struct piece *get_piece(size_t size)
{
    struct piece *first, *piece;
    char *at, *end;
    if (pieces != NULL)
    {
        piece = pieces;
        pieces = piece->next;
        return piece;
    }
    first = malloc(100 * size);
    if (first == NULL)
        exit(1);
    at = (char *)first;
    end = at + 100 * size;
    for (piece = first;; piece = piece->next)
    {
        at += size;
        if (at >= end)
        {
            piece->next = NULL;
            break;
        }
        piece->next = (struct piece *)at;
    }
    pieces = first->next;
    return first;
}

int use_piece_good(int kept)
{
    struct piece *piece = get_piece(16);
    if (kept)
        return 1;
    piece->next = pieces;
    pieces = piece;
    return 0;
}

// A table that nobody changes, and one that is passed on.

struct operations { char *(*make)(void); void (*drop)(char *); };

static char *make_text(void) { return strdup("x"); }     // alloc @table; alloc @passed
static void print_text(char *text) { printf("%s", text); }
static void drop_text(char *text) { free(text); }
static struct operations table[2] = { { make_text, drop_text }, { make_text, print_text } };
static const struct operations keeping = { make_text, print_text };
static const struct operations dropping = { make_text, drop_text };

void table_good(void)
{
    char *text = table[0].make();
    table[0].drop(text);
}

void table_bad(void)
{
    char *text = table[1].make();
    table[1].drop(text);
}                                            // leak @table: text

static void with(const struct operations *operations)
{
    char *text = operations->make();
    operations->drop(text);
}                                            // leak @passed: text

void passed_bad(void) { with(&keeping); }
void passed_good(void) { with(&dropping); }

// Taken out of a global, and dropped.

static char *slot;
static void put(char *text) { slot = text; }
static char *take(void) { char *text = slot; slot = NULL; return text; }

void slot_good(void) { put(strdup("x")); free(take()); }
void slot_bad(void)
{
    put(strdup("x"));                        // alloc @slot
    take();                                  // leak @slot
}

// A function that returns its argument, or null.

int first_line_bad(const char *name)
{
    char line[80];
    FILE *file = fopen(name, "r");           // alloc @line
    if (file == NULL)
        return -1;
    if (fgets(line, sizeof line, file) == NULL)
        return -1;                           // leak @line: file
    fclose(file);
    return 0;
}

int first_line_good(const char *name)
{
    char line[80];
    FILE *file = fopen(name, "r");
    if (file == NULL)
        return -1;
    if (fgets(line, sizeof line, file) == NULL)
    {
        fclose(file);
        return -1;
    }
    fclose(file);
    return 0;
}

// Somewhere in a string is not nowhere.

static char *skip_word(char *text, char **word)
{
    char *at;
    if (*text == '\0')
        return NULL;
    *word = calloc(strlen(text) + 1, 1);
    if (*word == NULL)
        exit(1);
    for (at = text; *at != ' '; at++)
        (*word)[at - text] = *at;
    return at;
}

void words_good(char *text)
{
    char *word;
    text = skip_word(text, &word);
    if (text == NULL)
        return;
    free(word);
}

// Lines that are read one after the other come to rest, and what lies beside
// the loop is seen.
static char *title;

static void assign_title(char *line)
{
    char *value = strchr(line, '=');
    if (value == NULL)
        return;
    char *copy = strdup(value + 1);
    if (copy == NULL)
        return;
    title = copy;
}

void titles_bad(void)
{
    char line[32];
    char *own = malloc(8);                    // alloc @beside
    while (fgets(line, sizeof line, stdin) != NULL)
        assign_title(line);
    free(title);
    title = NULL;
}                                             // leak @beside: own

// A global that each turn of a loop writes over.
static char *turn;

void turns_bad(int count)
{
    for (int i = 0; i < count; i++) {
        turn = malloc(8);                     // alloc @turns; leak @turns: turn
        if (turn == NULL)
            return;
        puts(turn);
    }
    free(turn);
    turn = NULL;
}

static char *last_turn;

void turns_good(int count)
{
    for (int i = 0; i < count; i++) {
        free(last_turn);
        last_turn = malloc(8);
        if (last_turn == NULL)
            return;
        puts(last_turn);
    }
    free(last_turn);
    last_turn = NULL;
}

int main(int count, char **words)
{
    struct session session;
    struct client client = { (unsigned)count, NULL }, other = client;
    reconnect_good(&session);
    set_option_good(words[0]);
    print_good(&client);
    print_bad(&other);
    reopen_good(count);
    reopen_bad(count);
    use_piece_good(count);
    table_good();
    table_bad();
    passed_bad();
    passed_good();
    slot_good();
    slot_bad();
    first_line_bad(words[0]);
    first_line_good(words[0]);
    words_good(words[0]);
    titles_bad();
    turns_bad(count);
    turns_good(count);
    return 0;
}
