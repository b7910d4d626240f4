#include "config.h"

#include "options.h"

#include <stdlib.h>
#include <string.h>

static struct options options;

const struct options *parse_options(int argc, char **argv) {
    options.output = strdup("out.pack");
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "-v") == 0)
            options.verbose = 1;
        else
            options.output = strdup(argv[i]);
    }
    return &options;
}
