// snprintf formats into a buffer that is also where the long form of the label was kept by pointer.
// valgrind: differs: libc writes the text byte by byte, and stores of single bytes are not looked at
// stdout: [loading a very long file name indeed]
// stdout: [42%]
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NEAR = 16 };

union label {
    char *far;
    char near[NEAR];
};

struct progress {
    union label label;
    size_t length;
};

static const char *label_text(const struct progress *progress) {
    return progress->length < NEAR ? progress->label.near : progress->label.far;
}

static void set_label(struct progress *progress, const char *text) {
    progress->length = strlen(text);
    if (progress->length < NEAR)
        strcpy(progress->label.near, text);
    else
        progress->label.far = strdup(text);    // lost: 1 block, 37 bytes
}

static void set_percent(struct progress *progress, int percent) {
    progress->length = (size_t)snprintf(progress->label.near, NEAR, "%d%%", percent);    // leaks: overwritten progress->label.far
}

static void draw(const struct progress *progress) {
    const char *text = label_text(progress);

    printf("[%s]\n", text);    // last used
}

int main(void) {
    struct progress progress;

    set_label(&progress, "loading a very long file name indeed");
    draw(&progress);
    set_percent(&progress, 42);
    draw(&progress);
    return 0;
}
