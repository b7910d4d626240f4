// A slot of a table is reused by struct assignment while it still owns the label of the former occupant.
// valgrind-variable -O2: differs: gcc adds the address of harbour up in a register, and its debug information says nothing of berth there
// stdout: berth 0: tern
// stdout: berth 1: gull
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct berth {
    char *ship;
    int draught;
    int length;
};

static struct berth harbour[2];

static struct berth *free_berth(int draught) {
    for (size_t i = 0; i < 2; i++)
        if (harbour[i].draught == 0 || harbour[i].draught < draught)
            return &harbour[i];
    return NULL;
}

static int dock(const char *ship, int draught, int length) {
    struct berth *berth = free_berth(draught);

    if (berth == NULL)
        return -1;
    struct berth arrival = {.draught = draught, .length = length};
    arrival.ship = strdup(ship);    // lost: 1 block, 7 bytes
    *berth = arrival;               // leaks: overwritten berth->ship
    return 0;
}

static void report_and_clear(void) {
    for (int i = 0; i < 2; i++) {
        printf("berth %d: %s\n", i, harbour[i].ship);
        free(harbour[i].ship);
        harbour[i].ship = NULL;
    }
}

int main(void) {
    if (dock("petrel", 3, 20) != 0 || dock("tern", 5, 31) != 0 || dock("gull", 4, 25) != 0)
        return 1;
    report_and_clear();
    return 0;
}
