// A fresh block is passed straight to a function that only looks at it and keeps nothing.
// valgrind: differs: unoptimised, the parameter is a variable of the called function, and its end is the last that is seen
// lsan: differs: an old word on the dead stack hides a block
// stdout: [warn] disk at 91%
// stdout: [info] disk at 12%
#include <stdio.h>
#include <stdlib.h>

enum level { INFO, WARN };

static int lines;

static char *usage(const char *what, int percent) {
    char *text = malloc(32);    // lost: 2 blocks, 64 bytes
    snprintf(text, 32, "%s at %d%%", what, percent);
    return text;
}

static void log_line(enum level level, const char *text) {
    static const char *const names[] = {"info", "warn"};

    lines++;
    printf("[%s] %s\n", names[level], text);    // last used
}

static void report(const char *what, int percent) {
    enum level level = percent > 80 ? WARN : INFO;

    log_line(level, usage(what, percent));    // leaks: discarded
}

int main(void) {
    static const int percent[] = {91, 12};

    for (int i = 0; i < 2; i++)
        report("disk", percent[i]);
    return lines == 2 ? 0 : 1;
}
