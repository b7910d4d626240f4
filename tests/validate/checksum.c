// The last byte is the sum, the one before the exclusive or of the rest.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int accept(const unsigned char *data, size_t size)
{
    unsigned char sum = 0, mixed = 0;
    if (size != 8)
        return 0;
    for (size_t i = 0; i < 6; i++) {
        sum += data[i];
        mixed ^= data[i] << (i % 3);
    }
    return data[6] == mixed && data[7] == sum && sum > 200;
}

static void keep(const unsigned char *data, size_t size)
{
    unsigned char *copy = malloc(size);                         // @sum MA
    if (!copy)
        return;
    memcpy(copy, data, size);
    if (accept(copy, size)) {                                   // @sum BT
        puts("accepted");
        return;                                                 // @sum LK = must-leak lost
    }
    free(copy);
}

int main(void)
{
    unsigned char data[16];
    size_t size = fread(data, 1, sizeof data, stdin);
    keep(data, size ? size : 1);
    return 0;
}
