// read() into records of a table on the stack, which is larger than a page: some record lies on two of them.
// valgrind-variable -O2: differs: gcc walks along the table by an address, and nothing says that it is that of an element
// stdout: 300 records
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RECORDS = 300 };

struct record {
    int number;
    int value;
    char *text;
};

static int fill(int from) {
    struct record records[RECORDS];

    for (int i = 0; i < RECORDS; i++)
        records[i].text = strdup("x");    // lost: 300 blocks, 600 bytes
    for (int i = 0; i < RECORDS; i++)
        if (read(from, &records[i], sizeof records[i]) != (ssize_t)sizeof records[i])    // leaks: overwritten records[i].text
            return -1;
    return records[RECORDS - 1].number;
}

int main(void) {
    int ends[2];

    if (pipe(ends) != 0)
        return 1;
    for (int i = 0; i < RECORDS; i++) {
        struct record record = {.number = i + 1};
        if (write(ends[1], &record, sizeof record) != (ssize_t)sizeof record)
            return 1;
    }
    printf("%d records\n", fill(ends[0]));
    close(ends[0]);
    close(ends[1]);
    return 0;
}
