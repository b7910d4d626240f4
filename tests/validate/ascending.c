// Four numbers, each larger than the one before by more than ten.
#include <stdio.h>
#include <stdlib.h>

static int numbers(void)
{
    int last = 0, c, count = 0;
    int *sums = malloc(4 * sizeof *sums);                       // @rising MA
    if (!sums)
        return 1;
    while (count < 4 && (c = getchar()) != EOF) {
        if (c <= last + 10)
            break;
        sums[count++] = c;
        last = c;
    }
    if (count == 4)                                             // @rising BT
        return 2;                                               // @rising LK = must-leak lost
    free(sums);
    return 0;
}

int main(void)
{
    return numbers();
}
