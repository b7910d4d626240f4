#include "measure.h"

#include <stdlib.h>

int main(void) {
    struct series *series = parse("3 5 7 9");
    double *smooth = window(series, 2);

    remember(mean(series));
    remember(smooth[0]);
    report(TITLE, mean(series));
    free(smooth);
    free(series);
    return sum(tail(), -7);
}
