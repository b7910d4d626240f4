// Checksums whose steps are branches on several lines, over all that comes before them.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static uint16_t crc(const unsigned char *data, size_t size)
{
    uint16_t value = 0xffff;
    for (size_t i = 0; i < size; i++) {
        value ^= (uint16_t)(data[i] << 8);
        for (int bit = 0; bit < 8; bit++) {
            if (value & 0x8000)
                value = (uint16_t)((value << 1) ^ 0x1021);
            else
                value = (uint16_t)(value << 1);
        }
    }
    return value;
}

static uint8_t one_wire(const unsigned char *data, size_t size)
{
    uint8_t value = 0;
    while (size--) {
        uint8_t byte = *data++;
        for (int bit = 0; bit < 8; bit++) {
            uint8_t mix = (value ^ byte) & 1;
            value >>= 1;
            if (mix)
                value ^= 0x8c;
            byte >>= 1;
        }
    }
    return value;
}

static uint32_t adler(const unsigned char *data, size_t size)
{
    uint32_t a = 1, b = 0;
    while (size--) {
        a += *data++;
        if (a >= 65521)
            a -= 65521;
        b += a;
        if (b >= 65521)
            b -= 65521;
    }
    return b << 16 | a;
}

static uint16_t fletcher(const unsigned char *data, size_t size)
{
    unsigned a = 0, b = 0;
    for (; size; size--) {
        a = (a + *data++) % 255;
        b = (b + a) % 255;
    }
    return (uint16_t)(b << 8 | a);
}

static uint32_t word(const unsigned char *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

int main(void)
{
    unsigned char data[40];
    char *name = malloc(16);                                            // @crc MA; @wire MA; @adler MA; @fletcher MA
    if (!name)
        return 1;
    size_t size = fread(data, 1, sizeof data, stdin);
    if (size < 30) {
        free(name);
        return 1;
    }
    if (data[0] == 'C' && crc(data, 28) == (data[28] << 8 | data[29]) && data[7] == 9)
        return 2;                                                       // @crc LK = must-leak lost
    if (data[0] == 'W' && one_wire(data, 29) == data[29] && data[3] == 'w')
        return 2;                                                       // @wire LK = must-leak lost
    if (data[0] == 'A' && adler(data, 26) == word(data + 26) && data[5] == data[6] + 1)
        return 2;                                                       // @adler LK = must-leak lost
    if (data[0] == 'F' && fletcher(data, 28) == (data[28] | data[29] << 8) && data[9] == 0x7f)
        return 2;                                                       // @fletcher LK = must-leak lost
    free(name);
    return 0;
}
