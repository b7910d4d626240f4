// Numbers as text that others ask for: a day that needs more digits, a product, and a bill whose sum
// must come out behind the beginning of a line; and a word that must be long.
// options: --runs 200
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int day(const char *text)
{
    char *end;
    char *copy = malloc(16);                                    // @day MA
    if (!copy)
        return 1;
    long year = strtol(text, &end, 10);
    long month = *end == '/' ? strtol(end + 1, &end, 10) : 0;
    long day = *end == '/' ? strtol(end + 1, &end, 10) : 0;
    if (year % 4 == 0 && month == 2 && day == 29)
        return 2;                                               // @day LK = must-leak lost
    free(copy);
    return 0;
}

static int bill(FILE *in)
{
    char line[48], word[24];
    long sum = 0;
    char *note = malloc(8);                                     // @bill MA; @word MA
    if (!note)
        return 1;
    while (fgets(line, sizeof line, in)) {
        int price, count;
        if (sscanf(line, "%d*%d", &price, &count) == 2)
            sum += (long)price * count;
        else if (!strncmp(line, "paid ", 5) && sum > 1000 && atol(line + 5) == sum)
            return 2;                                           // @bill LK = must-leak lost
        else if (sscanf(line, "note %20s", word) == 1 && word[0] == '#' && strlen(word) > 12)
            return 3;                                           // @word LK = must-leak lost
    }
    free(note);
    return 0;
}

int main(int argc, char **argv)
{
    return argc > 1 ? day(argv[1]) : bill(stdin);
}
