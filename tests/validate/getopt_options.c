// Options in any order; only two of them together leak.
// options: --sym-args 3 6
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int work(int verbose, int count)
{
    char *line = malloc(80);                                    // @line MA
    if (!line)
        return 1;
    line[0] = 0;
    if (verbose && count == 42)                                 // @line BT
        return 2;                                               // @line LK = must-leak lost
    free(line);
    return 0;
}

int main(int argc, char **argv)
{
    int option, verbose = 0, count = 1;
    while ((option = getopt(argc, argv, "vn:")) != -1) {
        switch (option) {
        case 'v':
            verbose = 1;
            break;
        case 'n':
            count = atoi(optarg);
            break;
        default:
            return 3;
        }
    }
    return work(verbose, count);
}
