#include <ctype.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static uint32_t checksum(const unsigned char *p, size_t n) {
    uint32_t a = 1, b = 0;
    for (size_t i = 0; i < n; i++) { a = (a + p[i]) % 65521; b = (b + a) % 65521; }
    return b << 16 | a;
}

int main(int argc, char **argv) {
    unsigned char raw[16] = {0};
    size_t n = fread(raw, 2, 5, stdin);
    if (n == 4) puts("four");
    for (int i = 1; i < argc; i++) {
        char *end;
        long decimal = strtol(argv[i], &end, 10), any = strtol(argv[i], 0, 0);
        unsigned long u = strtoul(argv[i], 0, 16);
        if (*end) puts("more");
        if (decimal == 17) puts("17");
        if (any == 31 || any == 63) puts("any");
        if (u > 0xff) puts("large");
        if (atoi(argv[i]) < 0) puts("negative");
        if (strtoimax(argv[i], 0, 10) > 1000000000000) puts("too large");
        if (isalpha(argv[i][0])) puts("letter");
        if (toupper(argv[i][0]) == 'Z') puts("Z");
    }
    int8_t s = raw[0]; uint16_t h = raw[1] << 8 | raw[2]; int64_t w = (int64_t)raw[3] * -7;
    if (s >> 1 == 24) puts("s");
    if ((h ^ 0x5555) % 3 == 1) puts("h");
    if (w / 4 < -80) puts("w");
    if ((raw[0] << (raw[1] & 7)) > 1000) puts("shift");
    if (checksum(raw, 6) == 0x12345678) puts("checksum");
    struct { unsigned a : 3, b : 5; int c : 6; } bits = { raw[0], raw[1], raw[2] };
    if (bits.a == 1 && bits.b > 3) puts("bits");
    if (bits.c < 0) puts("c");
    unsigned r; if (__builtin_mul_overflow((unsigned)raw[0] << 24, 5u, &r)) puts("overflow");
    double d = raw[0]; if (d > 40) puts("double");
    _Bool flag = raw[0] & 1; if (flag) puts("odd");
    const char *names[] = { "a", "b", "c", "d" }; if (names[raw[0] & 3][0] == 'b') puts("b");
    return raw[4] == '0' ? 3 : 0;
}
