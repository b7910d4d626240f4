/* A leak with many branches before and behind it: when it is looked for once
 * more, ways that cannot come to where it is lost are not followed, for there are
 * more of them than the work allows. */
#include <stdlib.h>
#include <string.h>

#define COUNT(at) if (in[at]) out[at] = sum++;
#define COUNT_8(at) COUNT(at) COUNT(at + 1) COUNT(at + 2) COUNT(at + 3) \
                    COUNT(at + 4) COUNT(at + 5) COUNT(at + 6) COUNT(at + 7)
#define FLAG(bit) if (in[bit] > out[bit]) flags += 1 << (bit);
#define FLAG_4(bit) FLAG(bit) FLAG(bit + 1) FLAG(bit + 2) FLAG(bit + 3)

int start_bad(const char *name, const int *in, int *out)
{
    int sum = 0, flags = 0;
    COUNT_8(0)
    COUNT_8(8)
    COUNT_8(16)
    COUNT_8(24)
    COUNT_8(32)
    COUNT_8(40)
    COUNT_8(48)
    COUNT_8(56)
    COUNT_8(64)
    char *copy = strdup(name); // alloc @early
    if (!copy)
        return -1;
    if (in[80] > sum)
        return -1; // leak @early: copy
    FLAG_4(0)
    FLAG_4(4)
    FLAG_4(8)
    FLAG_4(12)
    FLAG_4(16)
    if (flags == 12345)
        out[1] = 1;
    *out = flags;
    free(copy);
    return 0;
}

int start_good(const char *name, const int *in, int *out)
{
    int sum = 0, flags = 0;
    COUNT_8(0)
    COUNT_8(8)
    COUNT_8(16)
    COUNT_8(24)
    COUNT_8(32)
    COUNT_8(40)
    COUNT_8(48)
    COUNT_8(56)
    COUNT_8(64)
    char *copy = strdup(name);
    if (!copy)
        return -1;
    if (in[80] > sum) {
        free(copy);
        return -1;
    }
    FLAG_4(0)
    FLAG_4(4)
    FLAG_4(8)
    FLAG_4(12)
    FLAG_4(16)
    if (flags == 12345)
        out[1] = 1;
    *out = flags;
    free(copy);
    return 0;
}
