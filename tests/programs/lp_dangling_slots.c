// Pointers to freed blocks stay behind in a local, a field and a global, and go only after another block, perhaps at the same place, has leaked.
// valgrind-totals -O2: differs: gcc drops the malloc of upper, whose length it knows
// valgrind -O2: differs: gcc inlines checksum: copy is in the register of results until main's printf needs it; the malloc of upper is dropped
// stdout: last 1 of abc
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct connection {
    int number;
    char *buffer;
};

static char *latest;

static int checksum(const char *text) {
    char *copy = malloc(32);    // lost @copy: 1 block, 32 bytes
    int sum = 0;
    strcpy(copy, text);
    for (char *c = copy; *c != '\0'; c++)    // last used @copy
        sum += *c;
    return sum;                 // leaks @copy: scope-end copy
}

static int count(const char *text) {
    char *upper = malloc(48);    // lost @upper: 1 block, 48 bytes
    strcpy(upper, text);
    int length = (int)strlen(upper);    // last used @upper
    return length;               // leaks @upper: scope-end upper
}

static int handle(struct connection *connection, const char *text) {
    char *line = malloc(32);
    connection->buffer = malloc(48);
    latest = malloc(32);
    strcpy(line, text);
    strcpy(connection->buffer, line);
    strcpy(latest, line);
    free(line);
    free(connection->buffer);
    free(latest);
    int sum = checksum(text) + count(text);
    latest = NULL;
    connection->number = sum > 0;
    return connection->number;
}

int main(void) {
    struct connection *connection = calloc(1, sizeof *connection);
    int handled = handle(connection, "abc");
    printf("last %d of abc\n", handled);
    free(connection);
    return 0;
}
