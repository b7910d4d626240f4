// A live frame's buffer lies over dead words and was never filled: what it happens to contain holds nothing.
// engines: track
// lsan: differs: takes the old words in the buffer for pointers
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static long parse(void) {
    char *volatile tokens[64];
    char *token = malloc(39);    // lost: 1 block, 39 bytes

    memset(token, 't', 39);
    for (int i = 0; i < 64; i++)
        tokens[i] = token;
    return tokens[32][0];
}

static void leave(long value) {
    char message[2048];

    message[0] = (char)value;
    if (write(1, message, 0) < 0)
        _exit(1);
    exit(0);
}

int main(void) {
    leave(parse());
}
