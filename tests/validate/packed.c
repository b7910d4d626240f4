// A packed file: literals and back references. No result of unpacking is below -3, on however many ways it is
// come by; and what is wrong with the sum is not right the second time.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct text {
    uint8_t *data;
    size_t used, size;
};

static int put(struct text *text, uint8_t byte)
{
    if (text->used == text->size)
        return -1;
    text->data[text->used++] = byte;
    return 0;
}

static int unpack(FILE *in, struct text *text)
{
    int flags, byte;
    while ((flags = getc(in)) != EOF) {
        for (int bit = 0; bit < 8; bit++) {
            if (text->used == text->size)
                return 0;
            if (flags & 1 << bit) {
                int low = getc(in), high = getc(in);
                if (low == EOF || high == EOF)
                    return -1;
                int distance = low | (high & 0xf0) << 4, length = (high & 15) + 3;
                if (distance == 0 || (size_t)distance > text->used)
                    return -2;
                while (length--)
                    if (put(text, text->data[text->used - distance]))
                        return -3;
            } else {
                if ((byte = getc(in)) == EOF)
                    return -1;
                if (put(text, byte))
                    return -3;
            }
        }
    }
    return -1;
}

static int is_right(const struct text *text, unsigned want)
{
    unsigned a = 1, b = 0;
    for (size_t i = 0; i < text->used; i++) {
        a = (a + text->data[i]) % 251;
        b = (b + a) % 251;
    }
    return (b << 8 | a) == want;
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    FILE *in = fopen(argv[1], "rb");
    if (!in)
        return 2;
    uint8_t head[6];
    if (fread(head, sizeof head, 1, in) != 1 || head[0] != 'L' || head[1] != 'Z') {
        fclose(in);
        return 2;
    }
    struct text text = {NULL, 0, head[2] | head[3] << 8};
    text.data = malloc(text.size + 1); // @distance MA; @below MA; @again MA
    if (!text.data) {
        fclose(in);
        return 2;
    }
    int result = unpack(in, &text);
    fclose(in);
    if (result == -2)
        return 1; // @distance LK = must-leak
    if (result < -3)
        return 4; // @below LK = likely-not-leak
    unsigned want = head[4] | head[5] << 8;
    if (is_right(&text, want))
        puts("right");
    else if (text.used > 3 && is_right(&text, want))
        return 5; // @again LK = likely-not-leak
    free(text.data);
    return 0;
}
