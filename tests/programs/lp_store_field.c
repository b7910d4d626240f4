// A field is set a second time by a setter that frees nothing; the destructor frees what is there at the end.
// valgrind-variable -O2: differs: gcc inlines user_set_shell, where user is main's ada
// stdout: ada uses /bin/zsh, bob uses /bin/sh
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct user {
    char name[16];
    char *shell;
};

static struct user *user_new(const char *name) {
    struct user *user = calloc(1, sizeof *user);
    snprintf(user->name, sizeof user->name, "%s", name);
    return user;
}

static void user_set_shell(struct user *user, const char *shell) {
    user->shell = strdup(shell);    // lost: 1 block, 10 bytes; leaks: overwritten user->shell
}

static int shell_is_known(const struct user *user) {
    static const char *const known[] = {"/bin/sh", "/bin/bash", "/bin/zsh"};

    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(known[i], user->shell) == 0)    // last used
            return 1;
    return 0;
}

static void user_free(struct user *user) {
    free(user->shell);
    free(user);
}

int main(void) {
    struct user *ada = user_new("ada"), *bob = user_new("bob");

    user_set_shell(ada, "/bin/bash");
    if (shell_is_known(ada))
        user_set_shell(ada, "/bin/zsh");
    user_set_shell(bob, "/bin/sh");
    printf("%s uses %s, %s uses %s\n", ada->name, ada->shell, bob->name, bob->shell);
    user_free(ada);
    user_free(bob);
    return 0;
}
