// A program that locks itself into an empty folder sees neither the folder for records nor /proc at its end.
// flags: -D_GNU_SOURCE
// lsan: differs: needs /proc
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char *kept;

static void enter_jail(void) {
    if (geteuid() != 0)
        return;
    mkdir("jail", 0700);
    if (chroot("jail") != 0 || chdir("/") != 0)
        _exit(1);
}

static void lose(void) {
    char *volatile block = malloc(43);    // lost: 1 block, 43 bytes

    block[0] = 'b';
    block = NULL;
}

int main(void) {
    kept = malloc(44);    // forgotten: 1 block, 44 bytes
    enter_jail();
    lose();
    kept[0] = 'k';
    return 0;
}
