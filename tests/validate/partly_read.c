// Figure 3: only the first entries of the table are read.
#include <stdio.h>
#include <stdlib.h>

static int *table[32];
static int used;

static void add(int value)
{
    int *entry = malloc(sizeof *entry);                         // @read MA; @unread MA
    if (!entry)
        return;
    *entry = value;
    table[used++] = entry;
    if (value < 100) {                                          // @read BT; @unread BF
        return;                                                 // @read LK = likely-not-leak
    }
    puts("large");                                              // @unread LK = bloat
}

int main(void)
{
    int c = getchar(), sum = 0;
    if (c == 'r') {
        add(1);
        add(2);
    } else if (c == 'u') {
        add(100);
        add(200);
    }
    if (c == 'r')
        for (int i = 0; i < used; i++)
            sum += *table[i];
    for (int i = 0; i < used; i++)
        free(table[i]);
    return sum;
}
