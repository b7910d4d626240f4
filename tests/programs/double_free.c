// A block is freed twice: the program stops with a report of all three places.
// stops: double free
#include <stdlib.h>
#include <string.h>

struct ticket {
    char *subject;
    int open;
};

static void close_ticket(struct ticket *ticket) {
    free(ticket->subject);                       // first freed
    ticket->open = 0;
}

static void delete_ticket(struct ticket *ticket) {
    close_ticket(ticket);
    free(ticket->subject);                       // stops here
    free(ticket);
}

int main(void) {
    struct ticket *ticket = malloc(sizeof *ticket);

    ticket->subject = strdup("printer on fire");    // allocated
    ticket->open = 1;
    delete_ticket(ticket);
    return 0;
}
