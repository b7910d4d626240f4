// Words grow by realloc, which moves them: that frees nothing. One word is too long, and is left behind in the loop.
// valgrind -O2: differs: gcc inlines next_word, which needs the register of word: its last use is told
// stdout: one four 3
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct buffer {
    char *text;
    size_t used, room;
};

static void add(struct buffer *buffer, char c)
{
    if (buffer->used == buffer->room) {
        buffer->room = buffer->room ? buffer->room * 2 : 4;
        buffer->text = realloc(buffer->text, buffer->room); // lost: 1 block, 16 bytes
    }
    buffer->text[buffer->used++] = c;
}

static char *next_word(const char **input)
{
    struct buffer word = {0};
    while (**input == ' ')
        (*input)++;
    if (**input == '\0')
        return NULL;
    do
        add(&word, **input == ' ' ? '\0' : **input);
    while (*(*input)++ != ' ');
    return word.text;
}

int main(void)
{
    const char *input = "one twoandthree four ";
    int count = 0;
    char *word;
    while ((word = next_word(&input)) != NULL) { // leaks: overwritten word
        count++;
        if (strlen(word) > 8)
            continue;
        printf("%s ", word);
        free(word); // frees: 2 blocks
    }
    printf("%d\n", count);
    return 0;
}
