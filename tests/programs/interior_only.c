// Only pointers into the middle of a block exist: it is held. A pointer just past its end does not hold it.
// memcheck: differs: calls a block with interior pointers only "possibly lost"
#include <stdlib.h>
#include <string.h>

struct header {
    size_t size;
    long references;
};

static char *body;
static char *end;
static char *last;

/* A counted string: callers see the text behind the header. */
static char *counted(const char *text) {
    size_t size = strlen(text) + 1;
    struct header *header = malloc(sizeof *header + size);    // forgotten: 1 block, 24 bytes
    header->size = size;
    header->references = 1;
    return memcpy(header + 1, text, size);
}

static char *past(size_t size) {
    char *bytes = malloc(size);                               // lost: 1 block, 5008 bytes
    memset(bytes, 1, size);
    return bytes + size;
}

static char *tail(size_t size) {
    char *bytes = malloc(size);                               // forgotten: 1 block, 70000 bytes
    memset(bytes, 2, size);
    return bytes + size - 1;
}

int main(void) {
    body = counted("counted");
    end = past(5008);
    last = tail(70000);
    return body[0] == 'c' && end[-1] == 1 && last[0] == 2 ? 0 : 1;
}
