// exit() from deep inside: the frames of main and its callees still live, so what their locals hold is not lost.
// exit: 4
#include <stdlib.h>
#include <string.h>

static void fail(const char *message) {
    char *copy = strdup(message);                  // lost: 1 block, 10 bytes
    copy[0] = 'B';
    copy = NULL;
    exit(4);
}

static void read_field(const char *field) {
    char *volatile scratch = malloc(64);           // forgotten: 1 block, 64 bytes
    scratch[0] = field[0];
    if (field[0] == '?')
        fail("bad field");
    free(scratch);
}

static void read_record(const char **fields) {
    char **volatile record = calloc(4, sizeof *record);    // forgotten: 1 block, 32 bytes
    for (int i = 0; fields[i] != NULL; i++) {
        record[i] = strdup(fields[i]);             // forgotten: 2 blocks, 9 bytes
        read_field(fields[i]);
    }
    free(record);
}

int main(void) {
    const char *fields[] = {"name", "?no", NULL};
    char *volatile options = strdup("-v");         // forgotten: 1 block, 3 bytes

    read_record(fields);
    free(options);
    return 0;
}
