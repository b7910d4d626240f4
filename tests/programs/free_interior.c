// free() of a pointer into a block: the report names the block that it lies in.
// stops: invalid free
#include <stdlib.h>
#include <string.h>

static char *skip_spaces(char *text) {
    while (*text == ' ')
        text++;
    return text;
}

int main(void) {
    char *line = strdup("   indented");    // allocated
    char *word = skip_spaces(line);

    free(word);                            // stops here
    return 0;
}
