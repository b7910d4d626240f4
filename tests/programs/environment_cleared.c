// The program wipes its environment and leaves the folder it was started in, as careful programs do.
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

static void lose_path(void) {
    char *path = strdup("/usr/sbin");    // lost: 1 block, 10 bytes
    path[0] = '.';
    path = NULL;
}

int main(void) {
    for (char **variable = environ; *variable != NULL; variable++)
        memset(*variable, 0, strlen(*variable));
    clearenv();
    if (chdir("/") != 0)
        return 1;
    lose_path();
    return 0;
}
