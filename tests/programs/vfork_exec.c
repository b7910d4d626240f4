// vfork and exec: the child shares the parent's memory for a moment and leaves no report and no damage.
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int run(char *const command[]) {
    int status = -1;
    pid_t child = vfork();

    if (child == 0) {
        execv(command[0], command);
        _exit(127);
    }
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static char **command_line(const char *program) {
    char **command = calloc(3, sizeof *command);    // lost: 2 blocks, 48 bytes
    command[0] = strdup(program);                   // indirect: 2 blocks, 36 bytes
    return command;
}

int main(void) {
    int found = run(command_line("/bin/true"));
    int missing = run(command_line("/nowhere/to/be/found-here"));

    return found == 0 && missing == 127 ? 0 : 1;
}
