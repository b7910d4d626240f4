// posix_spawn, system and popen start other programs; this one reports only its own loss.
// stdout: from popen
#define _GNU_SOURCE
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

extern char **environ;

static int spawn(const char *program) {
    char *command[] = {strdup(program), NULL};    // lost: 1 block, 10 bytes
    pid_t child;
    int status = -1;

    if (posix_spawn(&child, command[0], NULL, NULL, command, environ) == 0)
        waitpid(child, &status, 0);
    command[0] = NULL;
    return status;
}

int main(void) {
    char line[64] = "";

    if (spawn("/bin/true") != 0 || system("exit 3") >> 8 != 3)
        return 1;
    FILE *output = popen("echo from popen", "r");
    if (fgets(line, sizeof line, output) == NULL || pclose(output) != 0)
        return 2;
    fputs(line, stdout);
    return 0;
}
