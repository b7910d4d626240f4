// A reader of lists in parentheses; errors leave by longjmp.
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct value {
    int is_list;
    char atom[8];
    struct value *first, *next;
};

static jmp_buf on_error;
static const char *at;

static struct value *make(void)
{
    struct value *v = calloc(1, sizeof *v); // @deep MA
    if (!v)
        longjmp(on_error, 2);
    return v;
}

static void release(struct value *v)
{
    while (v) {
        struct value *next = v->next;
        release(v->first);
        free(v);
        v = next;
    }
}

static struct value *read_value(int depth)
{
    while (*at == ' ')
        at++;
    struct value *v = make();
    if (*at == '(') {
        at++;
        v->is_list = 1;
        struct value **end = &v->first;
        for (;;) {
            while (*at == ' ')
                at++;
            if (*at == ')') {
                at++;
                return v;
            }
            if (*at == 0 || *at == '\n') {
                release(v);
                longjmp(on_error, 1); // @deep LK = must-leak lost
            }
            *end = read_value(depth + 1);
            end = &(*end)->next;
        }
    }
    size_t n = strcspn(at, " ()\n");
    if (n == 0 || n >= sizeof v->atom) {
        free(v);
        longjmp(on_error, 3);
    }
    memcpy(v->atom, at, n);
    at += n;
    return v;
}

int main(void)
{
    char line[64];
    while (fgets(line, sizeof line, stdin)) {
        at = line;
        int error = setjmp(on_error);
        if (error) {
            fprintf(stderr, "error %d\n", error);
            continue;
        }
        struct value *v = read_value(0);
        printf("%s\n", v->is_list ? "list" : v->atom);
        release(v);
    }
    return 0;
}
