#include <stdlib.h>

int sum(int count, const int *values)
{
    int *copy = malloc(count * sizeof *copy);
    int total = 0;
    if (!copy)
        return -1;
    for (int i = 0; i < count; i++)
        copy[i] = values[i];
    if (count > 10)
        return -2;
    for (int i = 0; i < count; i++)
        total += copy[i];
    free(copy);
    return total;
}
