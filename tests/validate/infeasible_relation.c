// What two values can be beside each other: a length and what is left, a depth and how much of it is hidden.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned char in[64];

int main(void)
{
    size_t n = fread(in, 1, sizeof in, stdin);
    unsigned at = 2;
    int depth = 0, hidden = 0;
    while (at + 4 <= n) {
        unsigned len = in[at] | in[at + 1] << 8;
        if (len > n - at - 4)
            break;
        char *copy = malloc(len + 1); // @long MA; @deeper MA; @short MA
        if (!copy)
            return 2;
        memcpy(copy, in + at + 4, len);
        if (len > 64)
            return 1; // @long LK = likely-not-leak
        if (in[at + 2] == '{' && depth < 5) {
            depth++;
            if (hidden || in[at + 3] == '!')
                hidden++;
        } else if (in[at + 2] == '}' && depth > 0) {
            depth--;
            if (hidden)
                hidden--;
        }
        if (hidden > depth)
            return 1; // @deeper LK = likely-not-leak
        if (len == 7 && hidden == 1)
            return 3; // @short LK = must-leak lost
        free(copy);
        at += 4 + len;
    }
    return 0;
}
