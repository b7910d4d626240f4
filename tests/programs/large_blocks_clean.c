// Large blocks come and go: freed ones go back to the system, so the program stays small.
// stdout: stays small
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { MIB = 1 << 20 };

int main(void) {
    struct rusage usage;

    for (int i = 0; i < 100; i++) {
        size_t size = (size_t)(8 + i % 9) * MIB;
        char *frame = malloc(size);
        if (frame == NULL)
            return 1;
        for (size_t at = 0; at < size; at += 4096)
            frame[at] = (char)i;
        free(frame);
    }
    getrusage(RUSAGE_SELF, &usage);
    puts(usage.ru_maxrss < 120 * 1024 ? "stays small" : "grows");
    return 0;
}
