// A block of several megabytes is freed twice: its memory is gone, but not what is known of it.
// stops: double free
#include <stdlib.h>
#include <string.h>

enum { SIZE = 5 << 20 };

static char *frame_buffer(void) {
    char *buffer = malloc(SIZE);    // allocated
    memset(buffer, 0, SIZE);
    return buffer;
}

static void close_screen(char *buffer) {
    free(buffer);                   // first freed
}

int main(void) {
    char *buffer = frame_buffer();

    close_screen(buffer);
    free(buffer);                   // stops here
    return 0;
}
