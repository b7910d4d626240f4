// A history is cut to its first entries by a shrinking realloc: what the tail pointed to is lost.
// stdout: kept ls, cd /tmp
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct history {
    char **commands;
    size_t length;
};

static void remember(struct history *history, const char *command) {
    history->commands = realloc(history->commands, (history->length + 1) * sizeof *history->commands);
    history->commands[history->length++] = strdup(command);    // lost: 2 blocks, 16 bytes
}

static int is_private(const struct history *history, size_t index) {
    return history->commands[index][0] == ' ';    // last used
}

static void keep(struct history *history, size_t length) {
    history->commands = realloc(history->commands, length * sizeof *history->commands);    // leaks: holder-freed ?
    history->length = length;
}

static void forget(struct history *history) {
    while (history->length > 0)
        free(history->commands[--history->length]);    // frees: 2 blocks
    free(history->commands);
}

int main(void) {
    static const char *const typed[] = {"ls", "cd /tmp", " secret", " hidden"};
    struct history history = {0};

    for (int i = 0; i < 4; i++)
        remember(&history, typed[i]);
    size_t length = history.length;
    while (length > 0 && is_private(&history, length - 1))
        length--;
    keep(&history, length);
    printf("kept %s, %s\n", history.commands[0], history.commands[1]);
    forget(&history);
    return 0;
}
