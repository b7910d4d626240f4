// A CRC of four bytes, bit by bit.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static uint16_t crc(const unsigned char *data, int size)
{
    uint16_t value = 0xffff;
    for (int i = 0; i < size; i++) {
        value ^= (uint16_t)(data[i] << 8);
        for (int bit = 0; bit < 8; bit++)
            value = value & 0x8000 ? (uint16_t)(value << 1 ^ 0x1021) : (uint16_t)(value << 1);
    }
    return value;
}

static int packet(void)
{
    unsigned char data[6];
    int *state = calloc(4, sizeof *state);                      // @crc MA
    if (!state)
        return 1;
    if (fread(data, 1, 6, stdin) == 6 && data[0] == 0x7e
        && crc(data, 4) == (data[4] << 8 | data[5]))            // @crc BT
        return 2;                                               // @crc LK = must-leak lost
    free(state);
    return 0;
}

int main(void)
{
    return packet();
}
