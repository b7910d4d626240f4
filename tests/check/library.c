// What libraries do with blocks: files, folders, lines, addresses, patterns.
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <glob.h>
#include <netdb.h>
#include <pthread.h>
#include <regex.h>
#include <search.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

void folder_good(const char *name)
{
    DIR *folder = opendir(name);
    if (!folder)
        return;
    while (readdir(folder))
        ;
    closedir(folder);
}

int folder_bad(const char *name)
{
    DIR *folder = opendir(name); // alloc @folder
    if (!folder)
        return -1;
    if (!readdir(folder))
        return -1; // leak @folder: folder
    closedir(folder);
    return 0;
}

void line_good(FILE *in)
{
    char *line = NULL;
    size_t size = 0;
    while (getline(&line, &size, in) > 0)
        puts(line);
    free(line);
}

void line_bad(FILE *in)
{
    char *line = NULL;
    size_t size = 0;
    while (getline(&line, &size, in) > 0) // alloc @line
        puts(line);
} // leak @line: line

void formatted_good(int n)
{
    char *text;
    if (asprintf(&text, "%d", n) < 0)
        return;
    puts(text);
    free(text);
}

void formatted_bad(int n)
{
    char *text;
    if (asprintf(&text, "%d", n) < 0) // alloc @formatted
        return;
    puts(text);
} // leak @formatted: text

int address_good(const char *host)
{
    struct addrinfo *found;
    if (getaddrinfo(host, NULL, NULL, &found) != 0)
        return -1;
    freeaddrinfo(found);
    return 0;
}

int address_bad(const char *host)
{
    struct addrinfo *found;
    if (getaddrinfo(host, NULL, NULL, &found) != 0) // alloc @address
        return -1;
    return found->ai_family; // leak @address: found
}

void aligned_good(void)
{
    void *p;
    if (posix_memalign(&p, 64, 100) != 0)
        return;
    free(p);
}

void aligned_bad(void)
{
    void *p;
    if (posix_memalign(&p, 64, 100) != 0) // alloc @aligned
        return;
    memset(p, 0, 100);
} // leak @aligned: p

void path_good(const char *name)
{
    char room[4096];
    if (realpath(name, room))
        puts(room);
}

void path_bad(const char *name)
{
    char *path = realpath(name, NULL); // alloc @path
    if (path)
        puts(path);
} // leak @path: path

void here_good(void)
{
    char room[100];
    if (getcwd(room, sizeof room))
        puts(room);
    char *here = getcwd(NULL, 0);
    free(here);
}

// A result that points into an argument.
void searched_good(void)
{
    char *text = strdup("a=b");
    if (!text)
        return;
    char *value = strchr(text, '=');
    if (!value) {
        free(text);
        return;
    }
    free(text);
}

char *searched_returned_good(const char *from)
{
    char *text = strdup(from);
    if (!text)
        return NULL;
    char *end = strrchr(text, '/');
    if (end)
        *end = 0;
    return text;
}

int searched_bad(const char *from)
{
    char *text = strdup(from); // alloc @searched
    if (!text)
        return -1;
    char *end = strrchr(text, '/');
    if (!end)
        return -1; // leak @searched: text
    free(text);
    return 0;
}

char *returns_argument_good(void)
{
    char *p = malloc(10);
    if (!p)
        return NULL;
    return strcpy(p, "x");
}

void split_good(const char *list)
{
    char *copy = strdup(list);
    char *rest = copy;
    char *word;
    while ((word = strsep(&rest, ",")) != NULL)
        puts(word);
    free(copy);
}

void wide_bad(const wchar_t *text)
{
    wchar_t *copy = wcsdup(text); // alloc @wide
    if (copy)
        copy[0] = L'x';
} // leak @wide: copy

void stream_good(void)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return;
    fputs("x", out);
    fclose(out);
    free(text);
}

void piped_good(void)
{
    FILE *pipe = popen("ls", "r");
    if (pipe)
        pclose(pipe);
}

void piped_bad(void)
{
    FILE *pipe = popen("ls", "r"); // alloc @pipe
    if (pipe)
        getc(pipe);
} // leak @pipe: pipe

static int compare(const void *a, const void *b)
{
    return strcmp(a, b);
}

static void *root;

void sought_good(const char *key)
{
    char *copy = strdup(key);
    if (copy)
        tsearch(copy, &root, compare);
}

void sorted_bad(void)
{
    char *all = malloc(100); // alloc @sorted
    if (all)
        qsort(all, 100, 1, compare);
} // leak @sorted: all

void buffered_good(FILE *out)
{
    char *buffer = malloc(4096);
    if (buffer)
        setvbuf(out, buffer, _IOFBF, 4096);
}

void temporary_good(void)
{
    FILE *file = tmpfile();
    if (file)
        fclose(file);
}

int descriptor_to_file_good(const char *name)
{
    int descriptor = open(name, O_RDONLY);
    if (descriptor < 0)
        return -1;
    FILE *file = fdopen(descriptor, "r");
    if (!file) {
        close(descriptor);
        return -1;
    }
    fclose(file);
    return 0;
}

FILE *descriptor_to_file_bad(const char *name)
{
    int descriptor = open(name, O_RDONLY); // alloc @handed
    if (descriptor < 0)
        return NULL;
    FILE *file = fdopen(descriptor, "r");
    if (!file)
        return NULL; // leak @handed: descriptor
    return file;
}

struct gzFile_s;
struct gzFile_s *gzdopen(int descriptor, const char *mode);
int gzclose(struct gzFile_s *file);

int descriptor_to_gzip_good(int given)
{
    int descriptor = dup(given);
    if (descriptor < 0)
        return -1;
    struct gzFile_s *file = gzdopen(descriptor, "rb");
    if (!file) {
        close(descriptor);
        return -1;
    }
    gzclose(file);
    return 0;
}

struct gzFile_s *descriptor_to_gzip_bad(int given)
{
    int descriptor = dup(given); // alloc @gzip
    if (descriptor < 0)
        return NULL;
    struct gzFile_s *file = gzdopen(descriptor, "rb");
    if (!file)
        return NULL; // leak @gzip: descriptor
    return file;
}

// Nobody looks whether it failed; the next line would end the program then.
int descriptor_unasked_good(const char *name)
{
    int descriptor = open(name, O_RDONLY);
    if (descriptor < 0)
        return -1;
    FILE *file = fdopen(descriptor, "r");
    int letter = getc(file);
    fclose(file);
    return letter;
}

// A number is no stream.
void closed_as_stream_bad(const char *name)
{
    int descriptor = open(name, O_RDONLY); // alloc @mistaken
    if (descriptor != -1)
        fclose((FILE *)(intptr_t)descriptor);
} // leak @mistaken: descriptor

static int finish_as_stream(int descriptor) { return fclose((FILE *)(intptr_t)descriptor); }

void closed_as_stream_below_bad(const char *name)
{
    int descriptor = open(name, O_RDONLY); // alloc @mistaken_below
    if (descriptor != -1)
        finish_as_stream(descriptor);
} // leak @mistaken_below: descriptor

int pattern_bad(const char *pattern, const char *text)
{
    regex_t compiled;
    if (regcomp(&compiled, pattern, 0)) // alloc @pattern
        return -1;
    return regexec(&compiled, text, 0, NULL, 0); // leak @pattern: ?
}

int pattern_good(const char *pattern, const char *text)
{
    regex_t compiled;
    if (regcomp(&compiled, pattern, 0))
        return -1;
    int found = regexec(&compiled, text, 0, NULL, 0);
    regfree(&compiled);
    return found;
}

struct filter {
    regex_t pattern;
    int is_set;
};

int filter_set_good(struct filter *filter, const char *pattern)
{
    if (regcomp(&filter->pattern, pattern, 0))
        return -1;
    filter->is_set = 1;
    return 0;
}

static void filter_end(struct filter *filter)
{
    if (filter->is_set)
        regfree(&filter->pattern);
}

void filter_good(const char *pattern)
{
    struct filter filter = {.is_set = 0};
    filter_set_good(&filter, pattern);
    filter_end(&filter);
}

size_t names_bad(const char *pattern)
{
    glob_t names;
    if (glob(pattern, 0, NULL, &names)) // alloc @names
        return 0;
    return names.gl_pathc; // leak @names: ?
}

size_t names_good(const char *pattern)
{
    glob_t names;
    if (glob(pattern, 0, NULL, &names))
        return 0;
    size_t count = names.gl_pathc;
    globfree(&names);
    return count;
}

int pipe_bad(void)
{
    int ends[2];
    if (pipe(ends) < 0) // alloc @ends
        return -1;
    write(ends[1], "x", 1);
    close(ends[1]);
    return 0; // leak @ends: ends[0]
}

int pipe_good(void)
{
    int ends[2];
    if (pipe(ends) < 0)
        return -1;
    for (int i = 0; i < 2; i++)
        close(ends[i]);
    return 0;
}

static int pipe_all[8][2];
static int pipes;

void pipe_kept_good(void)
{
    if (pipe(pipe_all[pipes]) == 0)
        pipes++;
}

int pipe_read(int i) { return pipe_all[i][0]; }

void entries_bad(const char *name)
{
    struct dirent **entries;
    int count = scandir(name, &entries, NULL, alphasort); // alloc @entries
    if (count < 0)
        return;
    for (int i = 0; i < count; i++)
        puts(entries[i]->d_name);
    free(entries); // leak @entries: ?
}

void entries_good(const char *name)
{
    struct dirent **entries;
    int count = scandir(name, &entries, NULL, alphasort);
    if (count < 0)
        return;
    while (count--)
        free(entries[count]);
    free(entries);
}

int buffered_bad(const char *name)
{
    FILE *in = fopen(name, "r");
    if (!in)
        return -1;
    char *buffer = malloc(4096); // alloc @buffer
    setvbuf(in, buffer, _IOFBF, 4096);
    int letter = getc(in);
    fclose(in);
    return letter; // leak @buffer: buffer
}

static void *worker(void *given)
{
    free(given);
    return NULL;
}

int thread_bad(void)
{
    pthread_t thread;
    char *given = malloc(10); // alloc @thread
    if (!given)
        return -1;
    if (pthread_create(&thread, NULL, worker, given))
        return -1; // leak @thread: given
    pthread_join(thread, NULL);
    return 0;
}

int thread_good(void)
{
    pthread_t thread;
    char *given = malloc(10);
    if (!given)
        return -1;
    if (pthread_create(&thread, NULL, worker, given)) {
        free(given);
        return -1;
    }
    pthread_join(thread, NULL);
    return 0;
}

static void *makes(void *given)
{
    return strdup(given); // alloc @made-by-thread
}

void thread_result_bad(char *name)
{
    pthread_t thread;
    void *made = NULL;
    if (pthread_create(&thread, NULL, makes, name))
        return;
    pthread_join(thread, &made);
    puts(made);
} // leak @made-by-thread: ?

void thread_result_good(char *name)
{
    pthread_t thread;
    void *made = NULL;
    if (pthread_create(&thread, NULL, makes, name))
        return;
    pthread_join(thread, &made);
    free(made);
}

void thread_unasked_good(void)
{
    pthread_t thread;
    char *given = malloc(10);
    pthread_create(&thread, NULL, worker, given);
    pthread_join(thread, NULL);
}

void untested_room_good(void)
{
    char *room = malloc(100);
    getcwd(room, 100);
    free(room);
}

void room_of_others_good(char *room)
{
    getcwd(room, 100);
}

// libxml2, as a program would declare it.
typedef struct xmlURI {
    char *scheme, *opaque, *authority, *server, *user;
    int port;
    char *path, *query, *fragment;
    int cleanup;
    char *query_raw;
} xmlURI;
unsigned char *xmlStrdup(const unsigned char *text);
unsigned char *xmlStrcat(unsigned char *to, const unsigned char *text);
xmlURI *xmlCreateURI(void);
void xmlFreeURI(xmlURI *uri);

unsigned char *joined_good(const unsigned char *a, const unsigned char *b)
{
    unsigned char *text = xmlStrdup(a);
    text = xmlStrcat(text, b);
    return text;
}

int joined_bad(const unsigned char *a, const unsigned char *b)
{
    unsigned char *text = xmlStrdup(a); // alloc @joined
    text = xmlStrcat(text, b);
    return text != NULL; // leak @joined: text
}

void uri_good(const unsigned char *path)
{
    xmlURI *uri = xmlCreateURI();
    if (!uri)
        return;
    uri->path = (char *)xmlStrdup(path);
    xmlFreeURI(uri);
}

// --- glib: lists that grow by their first element, and texts

typedef struct GList GList;
typedef struct GString GString;
GList *g_list_append(GList *list, void *data);
void g_list_free_full(GList *list, void (*release)(void *));
char *g_strdup(const char *text);
void g_free(void *block);
GString *g_string_new(const char *text);
char *g_string_free(GString *text, int frees);

void words_listed_good(const char **words)
{
    GList *list = NULL;
    for (; *words; words++)
        list = g_list_append(list, g_strdup(*words));
    g_list_free_full(list, g_free);
}

void words_listed_bad(const char **words)
{
    GList *list = NULL;
    for (; *words; words++)
        list = g_list_append(list, g_strdup(*words)); // alloc @list
} // leak @list: list

void text_built_good(void)
{
    g_string_free(g_string_new("x"), 1);
}

void text_taken_good(void)
{
    GString *text = g_string_new("x");
    g_free(g_string_free(text, 0));
}
