// A parser starts over after an error: bzero clears its state, with the token it was reading.
// stdout: error in 1+x
// stdout: 2+40 is 42
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static struct {
    const char *input;
    char *token;
    int value;
} parser;

static int next_number(void) {
    size_t length = strcspn(parser.input, "+");

    free(parser.token);    // frees: 1 block
    parser.token = strndup(parser.input, length);    // lost: 1 block, 2 bytes
    parser.input += length;
    if (*parser.input == '+')
        parser.input++;
    if (!isdigit((unsigned char)parser.token[0]))    // last used
        return 0;
    parser.value += atoi(parser.token);
    return 1;
}

static void reset(const char *input) {
    bzero(&parser, sizeof parser);    // leaks: overwritten parser.token
    parser.input = input;
}

static void evaluate(const char *input) {
    reset(input);
    while (*parser.input != '\0')
        if (!next_number()) {
            printf("error in %s\n", input);
            return;
        }
    printf("%s is %d\n", input, parser.value);
}

int main(void) {
    evaluate("1+x");
    evaluate("2+40");
    free(parser.token);
    return 0;
}
