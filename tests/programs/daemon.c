// A daemon: two forks, setsid, chdir to the root, descriptors to /dev/null; the report comes from the grandchild.
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char *pid_file;

static void detach(void) {
    if (fork() != 0)
        _exit(0);
    setsid();
    if (fork() != 0)
        _exit(0);
    int null = open("/dev/null", O_RDWR);
    if (chdir("/") != 0 || null < 0)
        _exit(1);
    for (int descriptor = 0; descriptor < 3; descriptor++)
        dup2(null, descriptor);
    close(null);
}

static void serve_once(void) {
    char *request = strdup("GET /status");    // lost: 1 block, 12 bytes (child)
    request[0] = 'g';
    request = NULL;
    pid_file = strdup("/run/daemon.pid");     // forgotten: 1 block, 16 bytes (child)
}

int main(void) {
    int alive[2];
    char byte;

    if (pipe(alive) != 0)
        return 1;
    pid_t launcher = fork();
    if (launcher == 0) {
        close(alive[0]);
        detach();
        serve_once();
        exit(0);
    }
    close(alive[1]);
    waitpid(launcher, NULL, 0);
    return read(alive[0], &byte, 1) == 0 ? 0 : 2;    /* until the daemon has ended, report and all */
}
