// Commands by name, the second with an argument.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int command(char *line)
{
    char *reply = malloc(32);                                   // @reply MA
    if (!reply)
        return 1;
    line[strcspn(line, "\n")] = 0;
    if (strcmp(line, "help") == 0) {
        strcpy(reply, "set N, help");
    } else if (strncmp(line, "set ", 4) == 0) {
        int value = atoi(line + 4);
        if (value == 77)                                        // @reply BT
            return 2;                                           // @reply LK = must-leak lost
        strcpy(reply, "ok");
    } else {
        strcpy(reply, "?");
    }
    puts(reply);
    free(reply);
    return 0;
}

int main(void)
{
    char line[64];
    int code = 0;
    while (!code && fgets(line, sizeof line, stdin))
        code = command(line);
    return code;
}
