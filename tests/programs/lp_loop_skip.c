// A loop goes on to its next round with what it has made: optimised code keeps that in a register until the next one is made.
// stdout: widest 7
#include <stdio.h>
#include <stdlib.h>

static int *read_row(const char *line, int *count) {
    int *row = calloc(4, sizeof *row);    // lost: 2 blocks, 32 bytes
    char *end;

    for (*count = 0; *count < 4; line = end) {
        long value = strtol(line, &end, 10);
        if (end == line)
            break;
        row[(*count)++] = (int)value;
    }
    return row;
}

static int widest(const char *const *lines, int lines_count) {
    int widest = 0;
    for (int i = 0; i < lines_count; i++) {
        int count;
        int *row = read_row(lines[i], &count);
        if (count < 2) continue;    // leaks: scope-end row
        if (row[1] - row[0] > widest)
            widest = row[1] - row[0];
        free(row);    // frees: 2 blocks
    }
    return widest;
}

int main(void) {
    const char *lines[] = {"1 4", "8", "2 9 3", "6"};
    printf("widest %d\n", widest(lines, 4));
    return 0;
}
