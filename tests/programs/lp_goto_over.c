// A jump goes over declarations, so that variables end with their function: of two with one block the first is told.
// valgrind -O2: differs: gcc keeps nothing of the statement but the jump of the condition before it
// stdout: 4 3
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int parse(const char *text) {
    int length = 0;
    if (text[0] == '#')
        goto out;
    char *copy = strdup(text);    // lost: 1 block, 10 bytes
    char *value = strchr(copy, '=');
    if (value == NULL) {
        free(copy);
        goto out;
    }
    *value++ = '\0';
    length = (int)strlen(value);
    if (length == 3)
        free(copy);
out:
    return length;    // leaks: scope-end copy
}

int main(void) {
    int comment = parse("# none");
    printf("%d %d\n", parse("size=1024") - parse("flag"), comment + parse("name=abc"));
    return 0;
}
