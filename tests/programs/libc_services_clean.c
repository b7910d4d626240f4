// Services of libc that allocate inside and are closed rightly: nothing is left.
#define _GNU_SOURCE
#include <dirent.h>
#include <glob.h>
#include <iconv.h>
#include <locale.h>
#include <netdb.h>
#include <regex.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wordexp.h>

static int by_text(const void *left, const void *right) {
    return strcmp(left, right);
}

static void resolve(void) {
    struct addrinfo hints = {.ai_flags = AI_NUMERICHOST}, *addresses = NULL;
    if (getaddrinfo("127.0.0.1", "80", &hints, &addresses) == 0)
        freeaddrinfo(addresses);
}

int main(void) {
    regex_t pattern;
    glob_t paths;
    wordexp_t words;
    void *tree = NULL;
    static const char *const keys[] = {"delta", "alpha", "echo", "bravo", "charlie"};

    setlocale(LC_ALL, "C.UTF-8");
    if (regcomp(&pattern, "^([a-z]+)[0-9]*(x|y)?$", REG_EXTENDED) != 0)
        return 1;
    int matched = regexec(&pattern, "abc123x", 0, NULL, 0) == 0;
    regfree(&pattern);
    if (glob("/*", 0, NULL, &paths) == 0)
        globfree(&paths);
    if (wordexp("one two three", &words, 0) == 0)
        wordfree(&words);
    for (int i = 0; i < 5; i++)
        tsearch(strdup(keys[i]), &tree, by_text);
    tdestroy(tree, free);
    DIR *folder = opendir("/");
    while (readdir(folder) != NULL)
        continue;
    closedir(folder);
    iconv_t converter = iconv_open("UTF-16", "UTF-8");
    if (converter != (iconv_t)-1)
        iconv_close(converter);
    FILE *memory = fmemopen(NULL, 100, "w+");
    fprintf(memory, "%d", 42);
    fclose(memory);
    resolve();
    return matched ? 0 : 2;
}
