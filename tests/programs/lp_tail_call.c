// A function ends by calling another in its place: its own buffer is lost there, whatever the next one writes over it.
// valgrind-variable -O2: differs: copy is in a register that the function gives back; at has the block in memory
// stdout: 2
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct entry {
    struct entry *next;
    char name[8];
};

__attribute__((noinline)) static int count(struct entry *list, const char *prefix, int hidden) {
    struct entry *first = NULL, *last = NULL;
    int words[12] = {0}, n = 0;
    for (struct entry *e = list; e; e = e->next) {
        if (!first)
            first = e;
        last = e;
        words[n % 12] += (int)strlen(e->name) + hidden;
        n++;
    }
    for (struct entry *e = first, *next; e; e = next) {
        next = e == last ? NULL : e->next;
        free(e);
    }
    return words[0] + n + (int)strlen(prefix) - 1 - 1;
}

__attribute__((noinline)) static int next_word(char **at, char *word) {
    *at += strspn(*at, " ");
    int n = (int)strcspn(*at, " ");
    memcpy(word, *at, (size_t)n);
    word[n] = '\0';
    *at += n;
    return n;
}

__attribute__((noinline)) static int load(const char *text) {
    struct entry *list = NULL;
    char *copy = malloc(64), *at = copy;    // lost: 1 block, 64 bytes
    strcpy(copy, text);
    for (;;) {
        struct entry *e = malloc(sizeof *e);
        if (next_word(&at, e->name) == 0) {
            free(e);
            break;
        }
        e->next = list;
        list = e;
    }
    return count(list, "", 1);    // leaks: scope-end copy
}

int main(void) {
    printf("%d\n", load("a b"));
    return 0;
}
