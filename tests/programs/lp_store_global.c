// A global setting is given twice in a configuration: the second value replaces the first one.
// stdin: [server]
// stdin: log = /var/log/first.log
// stdin: port = 8080
// stdin: log = /var/log/second.log
// stdout: port 8080, log /var/log/second.log
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *log_path;
int port;

static char *trim(char *text) {
    while (*text == ' ')
        text++;
    text[strcspn(text, " \n")] = '\0';
    return text;
}

static void set(const char *key, const char *value) {
    if (strcmp(key, "log") == 0)
        log_path = strdup(value);    // lost: 1 block, 19 bytes; last used; leaks: overwritten log_path
    else if (strcmp(key, "port") == 0)
        port = atoi(value);
}

static void read_configuration(FILE *file) {
    char line[128];

    while (fgets(line, sizeof line, file) != NULL) {
        char *value = strchr(line, '=');
        if (line[0] == '[' || value == NULL)
            continue;
        *value++ = '\0';
        set(trim(line), trim(value));
    }
}

int main(void) {
    read_configuration(stdin);
    printf("port %d, log %s\n", port, log_path);
    free(log_path);    // frees: 1 block
    return 0;
}
