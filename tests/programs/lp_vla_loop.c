// The fields of a line are kept in a variable-length array that ends with each round of the loop.
// valgrind -O2: differs: gcc keeps copy in a register, which the next strtok overwrites, and gives both arrays back by one instruction
// valgrind-variable -O0: differs: debug information gives an array of variable length no place
// stdin: a,b,c
// stdin: d,!,f
// stdin: g,h
// stdout: 3 columns
// stdout: bad line
// stdout: 2 columns
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int count(const char *line) {
    int n = 1;
    for (; *line; line++)
        n += *line == ',';
    return n;
}

static void read_table(FILE *in) {
    char line[128];
    while (fgets(line, sizeof line, in)) {
        line[strcspn(line, "\n")] = 0;
        char *fields[count(line)];
        int at = 0;
        for (char *word = strtok(line, ","); word; word = strtok(NULL, ",")) {
            char *copy = strdup(word);    // lost @bad: 2 blocks, 4 bytes; lost @short: 2 blocks, 4 bytes
            fields[at++] = copy;
            if (*copy == '!')             // last used @bad; last used @short
                goto bad;
        }
        printf("%d columns\n", at);
        while (at == 3)
            for (; at > 0; at--)
                free(fields[at - 1]);     // frees @bad: 3 blocks; frees @short: 3 blocks
        continue;                         // leaks @short: scope-end fields[i]
    bad:
        puts("bad line");
        continue;                         // leaks @bad: scope-end fields[i]
    }
}

int main(void) {
    read_table(stdin);
    return 0;
}
