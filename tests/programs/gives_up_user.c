// A server that becomes another user has no right to the folder for records at its end, nor have its children.
// flags: -D_GNU_SOURCE
// memcheck: differs: cannot write the child's report to a file as another user
// lsan: differs: cannot trace a process that has changed its user
#include <grp.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void become_nobody(void) {
    if (geteuid() != 0)
        return;
    if (setgroups(0, NULL) != 0 || setresgid(65534, 65534, 65534) != 0 || setresuid(65534, 65534, 65534) != 0)
        _exit(1);
}

static void lose(size_t size) {
    char *volatile block = malloc(size);    // lost: 1 block, 41 bytes; lost: 1 block, 42 bytes (child)

    block[0] = 'b';
    block = NULL;
}

int main(void) {
    become_nobody();
    lose(41);
    pid_t child = fork();
    if (child == 0) {
        lose(42);
        exit(0);
    }
    waitpid(child, NULL, 0);
    return 0;
}
