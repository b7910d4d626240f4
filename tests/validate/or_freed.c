// Two conditions lead to where the object is freed, and no input makes the second hold: what frees on one way frees on
// the other. Where one of two ways frees, both are to be gone.
#include <stdio.h>
#include <stdlib.h>

struct entry {
    int day, amount, used;
    char *note;
};

static struct entry *read_entry(const char *line)
{
    struct entry *e = malloc(sizeof *e); // @freed MA
    if (!e)
        return NULL;
    e->used = 0;
    e->note = NULL;
    if (sscanf(line, "%d %d%n", &e->day, &e->amount, &e->used) != 2 || e->used == 0) {
        free(e);
        return NULL; // @freed LK = bloat
    }
    if (e->day > 7)
        e->note = malloc(8); // @note MA
    if (e->day < 1 || e->amount == 3 * e->day + 70) {
        free(e);
        return NULL; // @note LK = must-leak lost
    }
    return e;
}

int main(void)
{
    char line[40];
    int sum = 0;
    while (fgets(line, sizeof line, stdin)) {
        struct entry *e = read_entry(line);
        if (!e)
            return 1;
        sum += e->amount;
        free(e->note);
        free(e);
    }
    printf("%d\n", sum);
    return 0;
}
