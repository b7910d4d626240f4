// A CRC of many bytes, bit by bit: each step uses the one before twice.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static uint32_t crc(const unsigned char *data, size_t size)
{
    uint32_t value = 0xffffffff;
    while (size--) {
        value ^= *data++;
        for (int bit = 0; bit < 8; bit++)
            value = value & 1 ? value >> 1 ^ 0xedb88320 : value >> 1;
    }
    return ~value;
}

int main(void)
{
    unsigned char head[8];
    while (read(0, head, sizeof head) == sizeof head) {
        size_t size = head[2] | head[3] << 8;
        uint32_t wanted = head[4] | head[5] << 8 | head[6] << 16 | (uint32_t)head[7] << 24;
        if (head[0] != 0xca || head[1] != 0xfe || size < 3 || size > 24)
            return 1;
        unsigned char *body = malloc(size);                     // @body MA
        if (!body || read(0, body, size) != (ssize_t)size || crc(body, size) != wanted) {
            free(body);
            return 1;
        }
        if (body[0] == 2 && body[1] == body[2] + 7)
            return 2;                                           // @body LK = must-leak lost
        free(body);
    }
    return 0;
}
