// A parser with many buffers is a local, larger than a few words; one of several returns forgets them all.
// valgrind-variable -O2: differs: gcc has the start of the buffer in a register, and only the next byte in memory
// stdout: a 1
// stdout: b failed
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct parser {
    int error;
    struct {
        size_t line, column;
    } mark;
    union {
        const char *text;
        FILE *file;
    } input;
    struct {
        char *start, *end, *next;
    } buffer;
    struct {
        int *start, *head;
    } tokens;
    size_t marks[16];
};

static void parser_start(struct parser *parser, const char *text)
{
    memset(parser, 0, sizeof *parser);
    parser->input.text = text;
    parser->buffer.start = malloc(32); // lost @buffer: 1 block, 32 bytes
    parser->buffer.next = parser->buffer.start;
    parser->tokens.start = calloc(4, sizeof(int)); // lost @tokens: 1 block, 16 bytes
}

static int parser_step(struct parser *parser)
{
    *parser->buffer.next++ = *parser->input.text;
    return *parser->input.text++ == '!' ? -1 : *parser->input.text != '\0';
}

static void parser_end(struct parser *parser)
{
    free(parser->buffer.start);
    free(parser->tokens.start);
}

static int parse(const char *text)
{
    struct parser parser;
    parser_start(&parser, text);
    for (;;) {
        int more = parser_step(&parser);
        if (more < 0) {
            printf("%c failed\n", text[0]);
            return 1; // leaks @buffer: scope-end parser.buffer.start; leaks @tokens: scope-end parser.tokens.start
        }
        if (more == 0)
            break;
    }
    printf("%c %zu\n", text[0], (size_t)(parser.buffer.next - parser.buffer.start) / 3);
    parser_end(&parser);
    return 0;
}

int main(void)
{
    return parse("abc") + parse("b!c") - 1;
}
