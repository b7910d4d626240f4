// A ring of buffers is entered through a local; when the function returns, nothing points into the ring any more.
// valgrind -O2: differs: gcc inlines write_lines: current is in a register until main returns
// lsan: differs: calls every member of a cycle indirect
// stdout: wrote 5 lines
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct buffer {
    struct buffer *next;
    char line[24];
};

static struct buffer *ring_of(int count) {
    struct buffer *first = NULL, *last = NULL;

    for (int i = 0; i < count; i++) {
        struct buffer *buffer = calloc(1, sizeof *buffer);    // lost: 1 block, 32 bytes; indirect: 2 blocks, 64 bytes
        if (last != NULL)
            last->next = buffer;
        else
            first = buffer;
        last = buffer;
        last->next = first;
    }
    return first;
}

static int write_lines(int count) {
    struct buffer *current = ring_of(3);
    int written = 0;

    for (int i = 0; i < count; i++) {
        written += snprintf(current->line, sizeof current->line, "line %d", i) > 0;
        current = current->next;
    }
    return written;    // leaks: scope-end current
}

int main(void) {
    printf("wrote %d lines\n", write_lines(5));
    return 0;
}
