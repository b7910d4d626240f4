// Chains of labels that release what was made so far, in C as it is written.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern int step(int);

int chain_good(void)
{
    int result = -1;
    char *a = malloc(10);
    if (!a)
        goto out;
    char *b = malloc(10);
    if (!b)
        goto free_a;
    if (step(1))
        goto free_b;
    result = 0;
free_b:
    free(b);
free_a:
    free(a);
out:
    return result;
}

int chain_wrong_label_bad(void)
{
    int result = -1;
    char *a = malloc(10);
    if (!a)
        goto out;
    char *b = malloc(10); // alloc @label
    if (!b)
        goto free_a;
    if (step(1))
        goto free_a;
    result = 0;
    free(b);
free_a:
    free(a);
out:
    return result; // leak @label: b
}

int all_at_once_good(void)
{
    int result = -1;
    char *a = NULL, *b = NULL, *c = NULL;
    if (!(a = malloc(1)) || !(b = malloc(2)) || !(c = malloc(3)))
        goto out;
    result = step(2);
out:
    free(a);
    free(b);
    free(c);
    return result;
}

int all_but_one_bad(void)
{
    int result = -1;
    char *a = NULL, *b = NULL, *c = NULL;
    if (!(a = malloc(1)) || !(b = malloc(2)) || !(c = malloc(3))) // alloc @one
        goto out;
    result = step(2);
out:
    free(a);
    free(c);
    return result; // leak @one: b
}

int returns_early_bad(const char *name)
{
    char *copy = strdup(name); // alloc @return
    if (!copy)
        return -1;
    if (step(3))
        return -1; // leak @return: copy
    free(copy);
    return 0;
}

int returns_late_good(const char *name, char **out)
{
    char *copy = strdup(name);
    int error = -1;
    if (!copy)
        return -1;
    if (step(3))
        goto fail;
    *out = copy;
    copy = NULL;
    error = 0;
fail:
    free(copy);
    return error;
}

int file_good(const char *name)
{
    FILE *file = fopen(name, "r");
    if (!file)
        return -1;
    int c = getc(file);
    fclose(file);
    return c;
}

int file_bad(const char *name)
{
    FILE *file = fopen(name, "r"); // alloc @file
    if (!file)
        return -1;
    int c = getc(file);
    if (c == EOF)
        return -1; // leak @file: file
    fclose(file);
    return c;
}

// Released on each way out of a loop.
int loop_good(int count)
{
    for (int i = 0; i < count; i++) {
        char *p = malloc(10);
        if (!p)
            break;
        if (step(i)) {
            free(p);
            continue;
        }
        free(p);
    }
    return 0;
}

int loop_continue_bad(int count)
{
    for (int i = 0; i < count; i++) {
        char *p = malloc(10); // alloc @continue
        if (!p)
            break;
        if (step(i))
            continue; // leak @continue: p
        free(p);
    }
    return 0;
}

int loop_break_bad(int count)
{
    for (int i = 0; i < count; i++) {
        char *p = malloc(10); // alloc @break
        if (!p)
            return -1;
        if (step(i))
            break; // leak @break: p
        free(p);
    }
    return 0;
}

int switch_bad(int what)
{
    char *p = malloc(10); // alloc @switch
    if (!p)
        return -1;
    switch (what) {
    case 0:
        free(p);
        return 0;
    case 1:
        return 1; // leak @switch: p
    default:
        free(p);
        return 2;
    }
}

static void cleanup_free(void *where)
{
    free(*(void **)where);
}

int attribute_good(void)
{
    __attribute__((cleanup(cleanup_free))) char *p = malloc(3);
    if (!p)
        return -1;
    return step(4);
}

int attribute_stolen_good(char **out)
{
    __attribute__((cleanup(cleanup_free))) char *p = malloc(3);
    if (step(4))
        return -1;
    *out = p;
    p = NULL;
    return 0;
}

// A loop is the last in a scope: the brace is where it ends.
void loop_last_bad(int count)
{
    if (count > 1) {
        char *line = malloc(count); // alloc @looped
        if (!line)
            return;
        for (int i = 1; i < count; i++)
            line[i] = 0;
    } // leak @looped: line
}

void loop_in_loop_bad(int count)
{
    while (count-- > 1) {
        char *line = malloc(count); // alloc @turned
        if (!line)
            continue;
        while (step(1))
            line[0]++;
    } // leak @turned: line
    step(1);
}

// The only way out of a loop is where something is negative: no count that it goes up to.
int read_until_bad(void)
{
    int count = 0;
    for (;;) {
        char *line = malloc(10); // alloc @until
        if (step(count) < 0)
            break; // leak @until: line
        count++;
        free(line);
    }
    return count;
}

int counted_down_bad(int count)
{
    for (;;) {
        char *line = malloc(10); // alloc @down
        if (count-- < 0)
            return 0; // leak @down: line
        free(line);
    }
}
