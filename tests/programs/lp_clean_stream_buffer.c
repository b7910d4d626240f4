// A stream that stays open works in a buffer that only libc knows.
// valgrind-totals: differs: libc lets go of the buffers of open streams at the very end, before it looks
// variants: -O0 -O2
// memcheck: differs: libc lets go of the buffers of open streams at the very end, before memcheck looks
// stdout: wrote 3 lines
#include <stdio.h>
#include <stdlib.h>

struct writer {
    FILE *stream;
    int lines;
};

static struct writer writer_open(void) {
    struct writer writer = {tmpfile(), 0};
    char *buffer = malloc(4096);    // forgotten: 1 block, 4096 bytes

    setvbuf(writer.stream, buffer, _IOFBF, 4096);
    return writer;
}

static void writer_line(struct writer *writer, const char *text) {
    fprintf(writer->stream, "%d %s\n", ++writer->lines, text);
}

int main(void) {
    static struct writer writer;

    writer = writer_open();
    for (int i = 0; i < 3; i++)
        writer_line(&writer, "entry");
    fflush(writer.stream);
    printf("wrote %d lines\n", writer.lines);
    return 0;
}
