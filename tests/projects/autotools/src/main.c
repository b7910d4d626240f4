#include "config.h"

#include "archive.h"
#include "options.h"

#include <stdio.h>

int main(int argc, char **argv) {
    const struct options *options = parse_options(argc, argv);
    struct archive *archive = archive_open(options->output);

    archive_add(archive, "zeros", "00000000000000000000");
    archive_add(archive, "text", "no runs in here");
    archive_add(archive, "bars", "||||||||----");
    printf("%s: %zu bytes\n", options->output, archive_size(archive));
    archive_close(archive);
    return 0;
}
