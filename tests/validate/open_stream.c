// Streams are allocated, too: one is not closed where a line is not understood.
#include <stdio.h>
#include <string.h>

static int read_rules(const char *name, int *sum)
{
    FILE *in = fopen(name, "r"); // @left MA; @closed MA
    if (!in)
        return -1;
    char line[32];
    while (fgets(line, sizeof line, in)) {
        if (line[0] == '#')
            continue;
        if (line[0] != '+' && line[0] != '-')
            return -1; // @left LK = must-leak
        *sum += line[0] == '+' ? 1 : -1;
        if (*sum < -1)
            break; // @closed LK = bloat
    }
    fclose(in);
    return 0;
}

int main(int argc, char **argv)
{
    int sum = 0;
    if (argc < 2 || read_rules(argv[1], &sum) != 0)
        return 1;
    printf("%d\n", sum);
    return 0;
}
