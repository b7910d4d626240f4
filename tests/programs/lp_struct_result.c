// Structs that own text are returned by value, a small one in registers and a large one in memory; nobody takes them.
// valgrind: differs: a struct that nobody keeps is a temporary in the frame, and dies with it
// stdout: 5 tokens
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct token {
    char *text;
    size_t length;
};

struct statement {
    struct token verb;
    int line;
    int arguments[6];
};

static const char *input;

static struct token next_token(void) {
    struct token token;

    input += strspn(input, " ");
    token.length = strcspn(input, " ");
    token.text = strndup(input, token.length);    // lost @skipped: 1 block, 5 bytes; lost @first: 1 block, 5 bytes
    input += token.length;
    return token;
}

static struct statement next_statement(int line) {
    struct statement statement = {.line = line};

    statement.verb = next_token();
    for (int i = 0; i < 2; i++) {
        struct token argument = next_token();
        statement.arguments[i] = atoi(argument.text);
        free(argument.text);
    }
    return statement;
}

static size_t run(void) {
    next_token();         // leaks @skipped: discarded
    next_statement(1);    // leaks @first: discarded
    struct token last = next_token();
    free(last.text);
    return last.length;
}

int main(void) {
    input = "then move 3 4 end";
    if (run() != 3)
        return 1;
    puts("5 tokens");
    return 0;
}
