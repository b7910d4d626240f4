// A comparison that terms do not know.
// options: --runs 60 --sym-stdin 4
#include <stdio.h>
#include <stdlib.h>

static int ratio(int a, int b)
{
    char *text = malloc(8);                                     // @ratio MA
    double value = b ? (double)a / b : 0.0;
    if (!text)
        return 1;
    if (value > 2.7182 && value < 2.7183)                       // @ratio BT
        return 2;                                               // @ratio LK = may-leak
    free(text);
    return 0;
}

int main(void)
{
    int a = getchar(), b = getchar();
    return a == EOF || b == EOF ? 0 : ratio(a, b);
}
