// A static local keeps the last error message: each new one replaces the former, the last stays to the end.
// stdout: 3 bad records, last: record 7: checksum
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct record {
    int number;
    unsigned sum;
    const char *text;
};

static const char *last_error(int number, const char *what) {
    static char *message;

    if (what != NULL) {
        char text[64];
        snprintf(text, sizeof text, "record %d: %s", number, what);
        message = strdup(text);    // lost @old: 2 blocks, 35 bytes; forgotten: 1 block, 19 bytes; leaks @old: overwritten message
    }
    return message;    // last used @old
}

static int verify(const struct record *record) {
    unsigned sum = 0;

    if (record->text[0] == '\0')
        return last_error(record->number, "empty"), 1;
    for (const char *c = record->text; *c != '\0'; c++)
        sum += (unsigned char)*c;
    if (sum != record->sum)
        return last_error(record->number, "checksum"), 1;
    return 0;
}

int main(void) {
    static const struct record records[] = {{1, 'a', "a"}, {2, 9, "b"}, {5, 0, ""}, {6, 'c', "c"}, {7, 1, "d"}};
    int bad = 0;

    for (size_t i = 0; i < sizeof records / sizeof records[0]; i++)
        bad += verify(&records[i]);
    printf("%d bad records, last: %s\n", bad, last_error(0, NULL));
    return 0;
}
