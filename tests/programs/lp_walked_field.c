// A reader's only pointer walks along its text, in a field and in a local; where it is set to another text, the first is lost.
// valgrind -O2: differs: gcc drops reader and inlines count_digits: both pointers are only in the register of results, until the next call or a comparison
// stdout: 3 words, 2 digits
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct reader {
    char *at;
    int words;
};

static char *copy(const char *text) {
    char *block = malloc(strlen(text) + 1);    // lost @field: 1 block, 15 bytes; lost @local: 1 block, 6 bytes

    return strcpy(block, text);
}

static void skip_word(struct reader *reader) {
    while (*reader->at != '\0' && *reader->at != ' ')
        reader->at++;
    while (*reader->at == ' ')    // last used @field
        reader->at++;
    reader->words++;
}

static void reset(struct reader *reader, char *text) {
    reader->at = text;    // leaks @field: overwritten reader->at
}

static int count_digits(const char *text) {
    char *at = copy(text);
    int digits = 0;

    for (; *at != '\0'; at++)    // last used @local
        digits += *at >= '0' && *at <= '9';
    return digits;    // leaks @local: scope-end at
}

int main(void) {
    struct reader reader = {copy("one two three "), 0};
    int digits;

    for (int i = 0; i < 3; i++)
        skip_word(&reader);
    reset(&reader, NULL);
    digits = count_digits("a1b2c");
    printf("%d words, %d digits\n", reader.words, digits);
    return 0;
}
