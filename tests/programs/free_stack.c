// free() of an array on the stack: no block at all.
// stops: invalid free
#include <stdlib.h>
#include <string.h>

static char *join(char *buffer, size_t size, const char *left, const char *right) {
    size_t need = strlen(left) + strlen(right) + 1;
    char *text = need > size ? malloc(need) : buffer;

    strcpy(text, left);
    return strcat(text, right);
}

int main(void) {
    char small[32];
    char *volatile path = join(small, sizeof small, "/etc/", "hosts");

    free(path);    // stops here
    return 0;
}
