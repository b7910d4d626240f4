// One allocation function, two callers: only one of them leaks.
#include <stdio.h>
#include <stdlib.h>

static void *xmalloc(size_t size)
{
    void *block = malloc(size);
    if (!block) {
        fputs("out of memory\n", stderr);
        exit(1);
    }
    return block;
}

static int good(int c)
{
    char *text = xmalloc(8);                                    // @good MA
    text[0] = (char)c;
    if (c == 'g') {                                             // @good BT
        c = text[0];                                            // @good LK = likely-not-leak
    }
    c += text[0];
    free(text);
    return c;
}

static int bad(int c)
{
    char *text = xmalloc(8);                                    // @bad MA
    text[0] = (char)c;
    if (c == 'b')                                               // @bad BT
        return 1;                                               // @bad LK = must-leak lost
    free(text);
    return 0;
}

int main(void)
{
    int c = getchar();
    return good(c) + bad(c) > 200;
}
