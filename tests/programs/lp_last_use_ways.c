// Tickets are priced by walking over them. The last use depends on the way on: one that is refused is not looked at again.
// valgrind -O2: differs: gcc has ticket and digits only in the register of results: a comparison, the end of total and main's printf are the last to have them
// stdout: 21 0 9
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct ticket {
    int count;
    int prices[6];
};

__attribute__((noinline)) static struct ticket *make(int count, int price) {
    struct ticket *ticket = malloc(sizeof *ticket);    // lost @paid: 1 block, 28 bytes; lost @refused: 1 block, 28 bytes

    ticket->count = count;
    for (int i = 0; i < 6; i++)
        ticket->prices[i] = price + i;
    return ticket;
}

static int total(int count, int price) {
    struct ticket *ticket = make(count, price);
    int sum = 0;

    if (ticket->count > 6)    // last used @refused
        return 0;             // leaks @refused: scope-end ticket
    for (int i = 0; i < count; i++)
        sum += ticket->prices[i];    // last used @paid
    return sum;        // leaks @paid: scope-end ticket
}

static int count_nines(const char *text) {
    char *digits = malloc(8);    // lost @digits: 1 block, 8 bytes
    int nines = 0;

    strcpy(digits, text);
    for (char *at = digits; *at != '\0'; at++) {    // last used @digits
        if (*at == '9')
            nines += 9;
    }
    return nines;    // leaks @digits: scope-end digits
}

int main(void) {
    int paid = total(6, 1), refused = total(7, 1);

    printf("%d %d %d\n", paid, refused, count_nines("1290"));
    return 0;
}
