// Options that mean something only together: a size that is so many times a count, in a mode.
// options: --runs 150
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

static const struct option longs[] = {
    {"size", required_argument, NULL, 's'},
    {"label", required_argument, NULL, 'l'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

int main(int argc, char **argv)
{
    int c, count = 0, size = 0, mode = 0;
    char *label = NULL;
    while ((c = getopt_long(argc, argv, "n:m:h", longs, NULL)) != -1) {
        switch (c) {
        case 'n':
            count = atoi(optarg);
            break;
        case 's':
            size = (int)strtol(optarg, NULL, 0);
            break;
        case 'm':
            mode = optarg[0];
            break;
        case 'l':
            free(label);
            label = strdup(optarg); // @label MA; @fine MA
            break;
        default:
            free(label);
            return 2;
        }
    }
    if (count < 1 || count > 64 || size % count != 0) {
        free(label);
        return 2;
    }
    if (label && size / count == 4 && count > 2 && mode == 'q')
        return 0; // @label LK = must-leak lost
    if (label && size == 7 * count)
        label[0] = 'x'; // @fine LK = likely-not-leak
    free(label);
    return 0;
}
