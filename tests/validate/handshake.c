// Three messages in a row, each of which answers the one before.
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct peer { int state; unsigned char sequence; };

int main(void)
{
    struct peer *peer = calloc(1, sizeof *peer); // @lost MA; @freed MA
    unsigned char m[3];
    if (!peer)
        return 1;
    while (read(0, m, 3) == 3) {
        unsigned char flags = m[0], sequence = m[1], answer = m[2];
        if (peer->state == 0 && flags == 2) {
            peer->sequence = sequence;
            peer->state = 1;
        } else if (peer->state == 1 && flags == 0x12 && answer == (unsigned char)(peer->sequence + 1)) {
            peer->sequence = sequence ^ 0x55;
            peer->state = 2;
        } else if (peer->state == 2 && flags == 0x10 && answer == (unsigned char)(peer->sequence * 3)) {
            peer->state = 3;
        } else if (peer->state == 3 && flags == 1) {
            return 0; // @lost LK = must-leak lost
        } else {
            free(peer); // @freed LK = bloat
            return 1;
        }
    }
    free(peer);
    return 0;
}
