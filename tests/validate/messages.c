// Messages in a row, each with a number and a sum over all its bytes: what the second one loses takes a whole second one.
// options: --runs 800
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static uint8_t in[128];
static uint8_t expected;

static size_t message(const uint8_t *p, size_t n)
{
    if (n < 5 || p[0] != 0xa5)
        return 0;
    size_t len = p[3];
    if (len > 16 || n < 5 + len)
        return 0;
    uint8_t sum = 0;
    for (size_t i = 1; i < 4 + len; i++)
        sum = (uint8_t)(sum + p[i]);
    if (sum != p[4 + len] || p[2] != expected)
        return 0;
    expected++;
    return 5 + len;
}

int main(void)
{
    size_t n = 0, at = 0, used;
    ssize_t got;
    while (n < sizeof in && (got = read(0, in + n, sizeof in - n)) > 0)
        n += (size_t)got;
    char *session = NULL, *key = NULL;
    while (at < n && (used = message(in + at, n - at)) > 0) {
        const uint8_t *p = in + at;
        at += used;
        switch (p[1]) {
        case 0x10:
            if (p[3] != 2 || p[4] + p[5] != 0x99)
                break;
            char *next = malloc(8); // @session MA
            if (!next)
                return 2;
            if (session) { at = n; } // @session LK = must-leak
            session = next;
            break;
        case 0x21:
            if (!session || p[3] < 2)
                break;
            free(key);
            key = malloc(p[3]); // @key MA
            if (!key)
                return 2;
            memcpy(key, p + 4, p[3]);
            if (memcmp(key, "ok", 2) == 0)
                key = NULL; // @key LK = must-leak lost
            break;
        default:
            at = n;
        }
    }
    free(session);
    free(key);
    return 0;
}
