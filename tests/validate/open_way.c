// Before the leak point is a branch that reads what a statement of another kind sets, and which most runs that come
// there have not: the way on which all is freed, too, is to be gone.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct sum {
    long value;
};

static struct sum *add(const char **text)
{
    long value = strtol(*text, (char **)text, 10);
    if (**text != '+')
        return NULL;
    ++*text;
    struct sum *sum = malloc(sizeof *sum); // @told MA
    if (sum)
        sum->value = value + strtol(*text, (char **)text, 10);
    return sum;
}

int main(void)
{
    char line[40];
    long vars[26] = {0};
    while (fgets(line, sizeof line, stdin)) {
        const char *text = line;
        int target = -1;
        if (text[0] == 'l' && text[1] == 'e' && text[2] == 't' && text[3] == ' ') {
            text += 4;
            if (*text < 'a' || *text > 'z' || text[1] != '=')
                continue;
            target = *text - 'a';
            text += 2;
        }
        struct sum *sum = add(&text);
        if (!sum)
            continue;
        if (target >= 0)
            vars[target] = sum->value;
        else
            printf("%ld\n", sum->value);
        free(sum);
        target = -1; // @told LK = bloat
    }
    return vars[0] == 1;
}
