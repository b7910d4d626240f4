// Objects of the allocation are lost in another function, of which nobody warns: not where the newest one is freed.
#include <stdio.h>
#include <stdlib.h>

static int *shelf;
static int refused;

static void put(int price)
{
    int *item = malloc(sizeof *item); // @refused MA
    if (!item)
        return;
    if (price == 0) {
        free(item);
        refused = 1;
        return; // @refused LK = bloat
    }
    *item = price;
    free(shelf);
    shelf = item;
}

static void forget(void)
{
    shelf = NULL;
}

int main(void)
{
    char line[8];
    while (fgets(line, sizeof line, stdin)) {
        if (line[0] == 'p')
            put(line[1] - '0');
        else if (line[0] == 'f' && refused)
            forget();
    }
    free(shelf);
    return 0;
}
