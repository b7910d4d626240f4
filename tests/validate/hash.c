// A number that no solver turns back in time; there is one, 0x1badcafe12345679.
// options: --solver-time 0.1 --time 20 --runs 60
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static uint64_t mix(uint64_t x)
{
    for (int round = 0; round < 12; round++) {
        x ^= x >> 31;
        x *= x | 0x9e3779b97f4a7c15u;
        x = x % 0xfffffffffffffc5du;
    }
    return x;
}

static int key(uint64_t value)
{
    char *text = malloc(8);                                     // @hash MA
    if (!text)
        return 1;
    if (mix(value) == 0x69dca9b4c14aac8au)                      // @hash BT
        return 2;                                               // @hash LK = may-leak
    free(text);
    return 0;
}

int main(void)
{
    uint64_t value;
    return fread(&value, sizeof value, 1, stdin) == 1 ? key(value) : 0;
}
