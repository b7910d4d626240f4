// Commands with two, three and four words, and a product that is a number of digits.
// options: --runs 500
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *names[4];
static int count;

static int find(const char *name)
{
    for (int i = 0; i < count; i++)
        if (!strcmp(names[i], name))
            return i;
    return -1;
}

int main(void)
{
    char line[80];
    while (fgets(line, sizeof line, stdin)) {
        char *word[4];
        int n = 0;
        for (char *w = strtok(line, " \n"); w && n < 4; w = strtok(NULL, " \n"))
            word[n++] = w;
        if (n == 2 && !strcmp(word[0], "open") && count < 4 && find(word[1]) < 0) {
            names[count] = strdup(word[1]);
            count += names[count] != NULL;
        } else if (n == 3 && !strcmp(word[0], "times")) {
            char *text = malloc(32); // @product MA
            if (!text)
                break;
            long product = atol(word[1]) * atol(word[2]);
            snprintf(text, 32, "%ld", product);
            if (product == 30030)
                break; // @product LK = must-leak lost
            puts(text);
            free(text);
        } else if (n == 4 && !strcmp(word[0], "move")) {
            char *note = malloc(16); // @note MA
            if (!note)
                break;
            int from = find(word[1]), to = find(word[2]);
            snprintf(note, 16, "%d to %d", from, to);
            if (from >= 0 && to >= 0 && atoi(word[3]) > 99)
                break; // @note LK = must-leak lost
            free(note);
        } else
            break;
    }
    while (count)
        free(names[--count]);
    return 0;
}
