// A struct is passed by value; the callee fills a field of its own copy, which dies with the call.
// valgrind: differs: a struct that is passed by value lies in the caller's frame, which takes it back without a trace
// stdout: vi -R notes
// stdout: emacs todo
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct options {
    int read_only;
    char *editor;
    const char *file;
};

static int edit(struct options options) {
    if (options.editor == NULL)
        options.editor = strdup("vi");    // lost: 1 block, 3 bytes
    printf("%s%s %s\n", options.editor, options.read_only ? " -R" : "", options.file);    // last used
    return options.read_only;    // leaks: scope-end options.editor
}

int main(void) {
    struct options options = {.read_only = 1, .file = "notes"};
    int viewed = edit(options);

    options.editor = strdup("emacs");
    options.read_only = 0;
    options.file = "todo";
    viewed += edit(options);
    free(options.editor);
    return viewed == 1 ? 0 : 1;
}
