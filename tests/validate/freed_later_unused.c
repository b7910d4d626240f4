// A table that is freed at the end and never read: bloat.
#include <stdio.h>
#include <stdlib.h>

static int *table[16];
static int used;

static void add(int value)
{
    int *entry = malloc(sizeof *entry);                         // @entry MA
    if (!entry)
        return;
    *entry = value;
    if (value > 10 && used < 16) {                              // @entry BT
        table[used++] = entry;
        return;                                                 // @entry LK = bloat
    }
    free(entry);
}

int main(void)
{
    int c;
    for (int i = 0; i < 4 && (c = getchar()) != EOF; i++)
        add(c);
    for (int i = 0; i < used; i++)
        free(table[i]);
    return 0;
}
