// Parent and child lose one block each after fork: the child reports its own and not what it was born with.
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char *shared_table;

static void lose_before(void) {
    char *options = malloc(50);         // lost: 1 block, 50 bytes
    options[0] = 0;
    options = NULL;
}

static void lose_in_child(void) {
    char *request = malloc(60);         // lost: 1 block, 60 bytes (child)
    request[0] = 1;
    request = NULL;
    free(shared_table);
    shared_table = NULL;
}

static void lose_in_parent(void) {
    char *answer = malloc(70);          // lost: 1 block, 70 bytes
    answer[0] = 2;
    answer = NULL;
}

int main(void) {
    int status = 0;

    lose_before();
    shared_table = calloc(100, 10);     // forgotten: 1 block, 1000 bytes
    pid_t child = fork();
    if (child == 0) {
        lose_in_child();
        exit(7);
    }
    lose_in_parent();
    waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 7 ? 0 : 1;
}
