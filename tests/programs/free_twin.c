// The address of a freed block comes back for a new one, whose free is right: this is no double free.
#include <stdlib.h>
#include <string.h>

int main(void) {
    char *blocks[500];

    for (int round = 0; round < 40; round++) {
        for (int i = 0; i < 500; i++) {
            blocks[i] = malloc((size_t)(i * 31 % 2500));
            if (blocks[i] == NULL)
                return 1;
        }
        for (int i = 0; i < 500; i++)
            free(blocks[(i * 7) % 500]);
    }
    memset(blocks, 0, sizeof blocks);
    return 0;
}
