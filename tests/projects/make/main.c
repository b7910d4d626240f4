#include "notes.h"

#include <stdio.h>
#include <stdlib.h>

int main(void) {
    store_add("  shopping ", "bread and butter, two lemons and a bag of rice");
    store_add("call", "the plumber about the boiler on Monday");
    char *heading = trimmed("   notebook");
    printf("%s, %s: %d notes\n", heading, version(), store_count());
    free(heading);
    store_clear();
    return 0;
}
