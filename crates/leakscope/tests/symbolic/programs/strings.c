#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static int count;
#define SAY(condition) do { count++; if (condition) printf("%d: %s\n", count, #condition); } while (0)

static int by_first(const void *a, const void *b) { return **(char *const *)a - **(char *const *)b; }

int main(int argc, char **argv) {
    const char *a = argc > 1 ? argv[1] : "", *b = argc > 2 ? argv[2] : "";
    char line[200] = "", copy[400];
    if (!fgets(line, sizeof line, stdin)) return 2;
    SAY(strlen(a) == 5);
    SAY(strnlen(a, 3) == 3);
    SAY(strcmp(a, b) < 0);
    SAY(strncmp(a, "alp", 3) == 0);
    SAY(strcasecmp(b, "BETA") == 0);
    SAY(strncasecmp(b, "BEst", 2) == 0);
    SAY(strchr(a, '.') != 0);
    SAY(strrchr(a, 'a') > strchr(a, 'a'));
    SAY(strchrnul(a, 'q')[0] == 0);
    SAY(memchr(line, ';', strlen(line)) != 0);
    SAY(strstr(line, "k2") != 0);
    SAY(strstr(line, "none") == 0);
    SAY(strspn(a, "abc.") > 1);
    SAY(strcspn(line, "=") < 5);
    SAY(strpbrk(line, ";,") != 0);
    strcpy(copy, a);
    strcat(copy, "/");
    strcat(copy, b);
    SAY(copy[strlen(a)] == '/');
    SAY(strcmp(copy, "alpha/beta") == 0);
    strncpy(copy, line, 8);
    SAY(copy[3] == 'v');
    strncat(copy + 100, b, 2);
    char *end = stpcpy(copy, b);
    SAY(*end == 0 && end[-1] == 'a');
    memset(copy, line[0], 10);
    SAY(copy[9] == 'k');
    memmove(copy + 2, copy, 8);
    SAY(memcmp(copy, copy + 2, 4) == 0);
    SAY(memcmp(line, "k1=v1", 5) == 0);
    char *whole = strdup(line), *part = strndup(line, 2);
    SAY(strcmp(part, "k1") == 0);
    int fields = 0;
    for (char *state, *word = strtok_r(line, ";\n", &state); word; word = strtok_r(0, ";\n", &state)) {
        char *value = strchr(word, '=');
        if (value && value[1] == 'v') fields++;
    }
    SAY(fields == 2);
    for (char *rest = whole, *word; (word = strsep(&rest, ";")); ) SAY(word[0] == 'k');
    char *words[3] = { (char *)a, (char *)b, whole };
    qsort(words, 3, sizeof words[0], by_first);
    SAY(words[0][0] == 'a');
    free(whole);
    free(part);
    return 0;
}
