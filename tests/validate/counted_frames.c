// Frames with a count, a text of that length and Fletcher's sum: a count is more only with more text, and
// then the sum is another. What leaks elsewhere is not the fault of the frame that is refused.
// options: --runs 400
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct frame {
    uint8_t kind, length;
    uint8_t *text;
};

static unsigned sum(const uint8_t *p, int n)
{
    unsigned a = 0, b = 0;
    for (int i = 0; i < n; i++) {
        a = (a + p[i]) % 255;
        b = (b + a) % 255;
    }
    return b << 8 | a;
}

static struct frame *receive(void)
{
    uint8_t head[2], tail[2];
    if (fread(head, 1, 2, stdin) != 2)
        return NULL;
    struct frame *f = malloc(sizeof *f); // @late MA; @refused MA
    if (!f)
        return NULL;
    f->kind = head[0];
    f->length = head[1];
    f->text = malloc(f->length + 1); // @name MA
    if (!f->text || fread(f->text, 1, f->length, stdin) != f->length || fread(tail, 1, 2, stdin) != 2
        || sum(f->text, f->length) != (unsigned)(tail[0] << 8 | tail[1])) {
        free(f->text);
        free(f); // @refused LK = bloat
        return NULL;
    }
    return f;
}

int main(void)
{
    struct frame *f;
    while ((f = receive())) {
        if (f->kind == 'O' && f->length >= 3) {
            free(f); // @name LK = must-leak lost
            continue;
        }
        free(f->text);
        if (f->kind == 'Q')
            continue; // @late LK = must-leak lost
        free(f);
    }
    return 0;
}
