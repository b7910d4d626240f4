// One line asks for two blocks, and one function of libc for blocks of two kinds: those of the other call are no siblings.
// valgrind -O2: differs: gcc drops the pairs, and has what they hold in registers alone
// stdout: 7 letters, 2 names
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct pair {
    char *key;
    char *value;
};

static struct pair *pair_new(const char *key, const char *value) {
    struct pair *pair = malloc(sizeof *pair);
    pair->key = strdup(key), pair->value = strdup(value);    // lost @value: 1 block, 5 bytes
    return pair;
}

static size_t first(void) {
    struct pair *pair = pair_new("a", "bc");
    size_t letters = strlen(pair->key) + strlen(pair->value);
    free(pair->key);
    free(pair->value);                                       // frees @value: 1 block
    free(pair);
    return letters;
}

static size_t second(void) {
    struct pair *pair = pair_new("d", "efgh");
    size_t letters = strlen(pair->value);                    // last used @value
    free(pair->key);
    free(pair);                                              // leaks @value: holder-freed pair->value
    return letters;
}

static int is_name(const struct dirent *entry) { return entry->d_name[0] != '.'; }

static int names(const char *folder) {
    struct dirent **names;
    int count = scandir(folder, &names, is_name, alphasort); // lost @name: 1 block, 24 bytes
    free(names[0]);                                          // frees @name: 1 block
    names[1]->d_name[0] = '-';                               // last used @name
    free(names);                                             // leaks @name: holder-freed names[1]
    return count;
}

int main(void) {
    mkdir("names", 0700);
    fclose(fopen("names/a", "w"));
    fclose(fopen("names/b", "w"));
    size_t letters = first() + second();
    printf("%zu letters, %d names\n", letters, names("names"));
    return 0;
}
