// longjmp over the frame that owns a block: the error path of many C libraries.
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

struct decoder {
    jmp_buf on_error;
    int decoded;
};

static void decode_chunk(struct decoder *decoder, const char *chunk) {
    if (chunk[0] == '!')
        longjmp(decoder->on_error, 1);
    decoder->decoded++;
}

static void decode(struct decoder *decoder, const char *chunk) {
    char *volatile window = malloc(600);    // lost: 2 blocks, 1200 bytes
    window[0] = chunk[0];
    decode_chunk(decoder, chunk);
    free(window);
}

static int decode_all(struct decoder *decoder) {
    static const char *chunks[] = {"IHDR", "!IDAT", "IDAT", "!IEND"};
    volatile int failures = 0;

    for (volatile int i = 0; i < 4; i++) {
        if (setjmp(decoder->on_error) != 0) {
            failures++;
            continue;
        }
        decode(decoder, chunks[i]);
    }
    return failures;
}

int main(void) {
    struct decoder decoder = {.decoded = 0};
    int failures = decode_all(&decoder);

    return failures == 2 && decoder.decoded == 2 ? 0 : 1;
}
