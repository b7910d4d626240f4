// A goto out of an inner block leaves the block's local behind; the cleanup at the label cannot see it.
// gap: -O2: the optimiser leaves no use on the line
// stdout: 2 fields
// stdout: bad field
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int check_fields(const char *record) {
    int fields = 0, status = -1;
    char *rest = strdup(record);
    char *next = rest;

    while (next != NULL) {
        char *end = strchr(next, ',');
        char *field = end != NULL ? strndup(next, (size_t)(end - next)) : strdup(next);    // lost: 1 block, 4 bytes
        for (const char *c = field; *c != '\0'; c++)
            if (!isdigit((unsigned char)*c))    // last used
                goto done;    // leaks: scope-end field
        fields++;
        free(field);
        next = end != NULL ? end + 1 : NULL;
    }
    status = 0;
    printf("%d fields\n", fields);
done:
    free(rest);
    return status;
}

int main(void) {
    if (check_fields("10,20") == 0 && check_fields("12x,7") != 0)
        puts("bad field");
    return 0;
}
