// The program closes descriptors that are not its own and its files get those numbers: no byte of ours goes there.
// file: journal.txt: only this line
// lsan: differs: does not end when its descriptors are taken
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { MOST = 1024 };

/* Takes over every free descriptor number for the journal. */
static void open_journal(void) {
    int journal = open("journal.txt", O_CREAT | O_TRUNC | O_WRONLY | O_APPEND, 0644);

    for (int descriptor = journal + 1; descriptor < MOST; descriptor++)
        dup2(journal, descriptor);
    if (write(journal, "only this line\n", 15) != 15)
        exit(1);
}

static void lose_entry(void) {
    char *entry = malloc(65);    // lost: 1 block, 65 bytes
    entry[0] = 'e';
    entry = NULL;
}

int main(void) {
    struct rlimit files = {MOST, MOST};

    setrlimit(RLIMIT_NOFILE, &files);
    for (int descriptor = 3; descriptor < MOST; descriptor++)
        close(descriptor);
    open_journal();
    lose_entry();
    return 0;
}
