// A string builder is detached where its text is empty: the caller checks the length only and drops the text.
// valgrind -O2: differs: gcc inlines buf_detach: the text is in the register of results, and its last use is told
// stdout: [alpha-beta]
// stdout: nothing
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct buf {
    char *text;
    size_t length, room;
};

static void buf_grow(struct buf *b, size_t more) {
    if (b->length + more + 1 <= b->room)
        return;
    b->room = (b->length + more + 1) * 3 / 2;
    b->text = realloc(b->text, b->room);    // lost: 1 block, 1 bytes
}

static void buf_add(struct buf *b, const char *s) {
    size_t n = strlen(s);
    buf_grow(b, n);
    memcpy(b->text + b->length, s, n + 1);
    b->length += n;
}

static char *buf_detach(struct buf *b, size_t *length) {
    buf_grow(b, 0);
    char *text = b->text;
    text[b->length] = '\0';
    if (length)
        *length = b->length;
    memset(b, 0, sizeof *b);
    return text;
}

static char *join(char sep, ...) {
    struct buf b = {0};
    va_list ap;
    va_start(ap, sep);
    for (const char *s; (s = va_arg(ap, const char *));) {
        if (b.length) {
            char text[2] = {sep, 0};
            buf_add(&b, text);
        }
        buf_add(&b, s);
    }
    va_end(ap);
    size_t n;
    char *all = buf_detach(&b, &n);
    if (n == 0)
        return NULL;    // leaks: scope-end all
    return all;
}

int main(void) {
    char *s = join('-', "alpha", "beta", (char *)NULL);
    printf("[%s]\n", s);
    free(s);
    s = join('-', (char *)NULL);
    printf("%s\n", s ? s : "nothing");
    free(s);
    return 0;
}
