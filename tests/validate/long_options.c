// Long options with values.
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct option options[] = {
    {"mode", required_argument, NULL, 'm'},
    {"threads", required_argument, NULL, 't'},
    {"no-cache", no_argument, NULL, 'c'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

struct config {
    char *mode;
    int threads, cache;
};

int main(int argc, char **argv)
{
    struct config *config = calloc(1, sizeof *config); // @config MA
    if (!config)
        return 1;
    config->cache = 1;
    int c;
    while ((c = getopt_long(argc, argv, "m:t:ch", options, NULL)) != -1) {
        switch (c) {
        case 'm': config->mode = optarg; break;
        case 't': config->threads = atoi(optarg); break;
        case 'c': config->cache = 0; break;
        case 'h':
            free(config);
            return 0;
        default:
            free(config);
            return 2;
        }
    }
    if (config->mode && !strcmp(config->mode, "fast") && config->threads > 8 && !config->cache) {
        fprintf(stderr, "fast needs a cache\n");
        return 2; // @config LK = must-leak lost
    }
    free(config);
    return 0;
}
