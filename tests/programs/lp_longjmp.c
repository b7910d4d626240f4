// A parser gives up by longjmp from three calls down; the buffer of a skipped frame is lost.
// gap: -O2: debug information has no place for a variable of a frame that is left behind; the optimiser leaves no use on the line
// stdout: 1 + 2 = 3
// stdout: syntax error
#include <ctype.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static jmp_buf on_error;

static const char *skip_blanks(const char *text) {
    while (*text == ' ')
        text++;
    return text;
}

static const char *number(const char *text, int *value) {
    text = skip_blanks(text);
    if (!isdigit((unsigned char)*text))    // last used
        longjmp(on_error, 1);    // leaks: unwound copy
    *value = (int)strtol(text, (char **)&text, 10);
    return skip_blanks(text);
}

static int sum(const char *text) {
    int total = 0, value;

    for (text = number(text, &total); *text == '+';) {
        text = number(text + 1, &value);
        total += value;
    }
    return total;
}

static void evaluate(const char *line) {
    char *copy = strdup(line);    // lost: 1 block, 7 bytes
    copy[strcspn(copy, "#")] = '\0';
    int total = sum(copy);
    printf("%s = %d\n", copy, total);
    free(copy);    // frees: 1 block
}

int main(void) {
    static const char *const lines[] = {"1 + 2", "4 + +5"};
    volatile int next = 0;

    if (setjmp(on_error) != 0)
        puts("syntax error");
    while (next < 2)
        evaluate(lines[next++]);
    return 0;
}
