#ifndef OPTIONS_H
#define OPTIONS_H

struct options {
    char *output;
    int verbose;
};

const struct options *parse_options(int argc, char **argv);

#endif
