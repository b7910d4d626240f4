// A request with a checksum as on a serial bus, behind which an address must lie in range.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static uint16_t crc(const uint8_t *p, size_t n)
{
    uint16_t crc = 0xffff;
    for (size_t i = 0; i < n; i++) {
        crc ^= p[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc & 1 ? crc >> 1 ^ 0xa001 : crc >> 1;
    }
    return crc;
}

int main(void)
{
    uint8_t in[8];
    if (read(0, in, sizeof in) != sizeof in)
        return 1;
    uint8_t *request = malloc(sizeof in); // @lost MA; @freed MA
    if (!request)
        return 1;
    memcpy(request, in, sizeof in);
    if (crc(request, 6) != (request[6] | request[7] << 8)) {
        free(request); // @freed LK = bloat
        return 1;
    }
    unsigned address = request[2] << 8 | request[3], count = request[4] << 8 | request[5];
    if (request[1] == 3 && count >= 1 && count <= 125 && address + count > 0xffff)
        return 2; // @lost LK = must-leak lost
    printf("%u %u\n", address, count);
    free(request);
    return 0;
}
