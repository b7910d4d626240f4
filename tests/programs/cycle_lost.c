// A ring of three blocks without a way in: one is the root, the others hang on it. A self-pointer does not help either.
// lsan: differs: calls every member of the ring indirect
#include <stdlib.h>
#include <string.h>

struct player {
    struct player *left;
    char name[24];
};

static void play(const char *const *names, int count) {
    struct player *seats[8];

    for (int i = 0; i < count; i++) {
        seats[i] = malloc(sizeof *seats[i]);    // lost: 2 blocks, 64 bytes; indirect: 2 blocks, 64 bytes
        strcpy(seats[i]->name, names[i]);
    }
    for (int i = 0; i < count; i++)
        seats[i]->left = seats[(i + 1) % count];
    memset(seats, 0, sizeof seats);
}

int main(void) {
    static const char *const names[] = {"ann", "bob", "cyd"};

    play(names, 3);
    play(names, 1);
    return 0;
}
