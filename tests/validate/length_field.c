// Records with a length: one that says more than there is ends the reading.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct record {
    unsigned char type;
    unsigned char length;
};

static char *body(int length)
{
    char *text = malloc((size_t)length + 1);                    // @body MA
    if (text)
        memset(text, 0, (size_t)length + 1);
    return text;
}

static int records(void)
{
    struct record head;
    int count = 0;
    while (fread(&head, sizeof head, 1, stdin) == 1) {
        char *text = body(head.length);
        if (!text)
            return -1;
        if (head.type == 9 && fread(text, 1, head.length, stdin) < head.length) // @body BT
            return -2;                                          // @body LK = must-leak lost
        free(text);
        count++;
    }
    return count;
}

int main(void)
{
    return records() < 0;
}
