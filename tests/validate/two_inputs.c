// An argument must be what standard input says.
// options: --sym-args 1 6
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int login(const char *given)
{
    char line[16];
    char *user = malloc(16);                                    // @user MA
    if (!user)
        return 1;
    if (!fgets(line, sizeof line, stdin)) {
        free(user);
        return 2;
    }
    line[strcspn(line, "\n")] = 0;
    if (strlen(given) >= 4 && strcmp(given, line) == 0)         // @user BT
        return 3;                                               // @user LK = must-leak lost
    free(user);
    return 0;
}

int main(int argc, char **argv)
{
    return argc == 2 ? login(argv[1]) : 0;
}
