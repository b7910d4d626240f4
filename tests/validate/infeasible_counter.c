// Counters that do not get as far as a condition asks for: one in a loop, one in a variable that handlers change.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST 6

static char *words[MOST];
static int depth, verbose;

static int push(const char *word)
{
    if (depth == MOST)
        return -1;
    words[depth++] = strdup(word);
    return 0;
}

static int pop(const char *word)
{
    if (depth == 0 || strcmp(words[depth - 1], word))
        return -1;
    free(words[--depth]);
    return 0;
}

static int tell(const char *word)
{
    verbose = word[0] != '-';
    return 0;
}

static const struct {
    char name;
    int (*run)(const char *);
} commands[] = { { '+', push }, { '-', pop }, { '?', tell } };

int main(void)
{
    char line[40];
    int bad = 0;
    while (bad < 3 && fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\n")] = 0;
        int done = -1;
        for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
            if (line[0] == commands[i].name)
                done = commands[i].run(line + 1);
        if (done < 0)
            bad++;
    }
    char *summary = malloc(32);                                 // @loop MA; @variable MA; @true MA
    if (!summary)
        return 3;
    snprintf(summary, 32, "%d words, %d bad", depth, bad);
    if (bad > 3)
        return 2;                                               // @loop LK = likely-not-leak
    if (depth > MOST)
        return 2;                                               // @variable LK = likely-not-leak
    if (depth == 2 && bad == 3)
        return 2;                                               // @true LK = must-leak
    if (verbose)
        puts(summary);
    free(summary);
    while (depth > 0)
        free(words[--depth]);
    return 0;
}
