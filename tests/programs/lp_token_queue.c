// A lexer's queue keeps what was taken from it below its head, and writes over it much later: the block was the reader's by then.
// engines: track
// options: --explain
// stdout: 26
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct token {
    int type;
    char *text;
};

struct lexer {
    const char *p;
    struct token *start, *head, *tail, *end;
};

static void enqueue(struct lexer *lexer, struct token token) {
    if (lexer->tail == lexer->end) {
        size_t count = (size_t)(lexer->tail - lexer->head);
        memmove(lexer->start, lexer->head, count * sizeof *lexer->start);
        lexer->head = lexer->start;
        lexer->tail = lexer->start + count;
    }
    *lexer->tail++ = token;
}

static int fetch(struct lexer *lexer) {
    while (*lexer->p == ' ')
        lexer->p++;
    if (*lexer->p == '\0')
        return 0;
    const char *start = lexer->p;
    while (*lexer->p != '\0' && *lexer->p != ' ')
        lexer->p++;
    struct token token = {*start == '#' ? 2 : 1, NULL};
    token.text = strndup(start, (size_t)(lexer->p - start));    // lost: 1 block, 5 bytes
    enqueue(lexer, token);
    return 1;
}

static int next(struct lexer *lexer, struct token *out) {
    while (lexer->tail - lexer->head < 2 && fetch(lexer))
        ;
    if (lexer->head == lexer->tail)
        return 0;
    *out = *lexer->head++;          // leaks: overwritten out->text
    return 1;
}

static int process(struct lexer *lexer) {
    struct token token;
    int length = 0;

    while (next(lexer, &token)) {
        if (token.type == 2)
            continue;
        length += (int)strlen(token.text);
        free(token.text);           // frees: 5 blocks
    }
    return length;
}

int main(void) {
    struct lexer lexer = {.p = "alpha #bad beta gamma delta epsilon"};

    lexer.start = lexer.head = lexer.tail = malloc(4 * sizeof *lexer.start);
    lexer.end = lexer.start + 4;
    printf("%d\n", process(&lexer));
    free(lexer.start);
    return 0;
}
