// Shapes that are rare and must neither confuse nor stop the analysis.
#include <alloca.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static jmp_buf back;

void variable_length_good(int n)
{
    char room[n];
    char *p = room;
    p[0] = 0;
}

void variable_length_bad(int n)
{
    char *all[n];
    all[0] = malloc(3); // alloc @vla
    if (n > 1)
        all[1] = NULL;
} // leak @vla: ?

void on_stack_good(int n)
{
    char *p = alloca(n);
    p[0] = 0;
}

int computed_goto_good(int n)
{
    static void *const labels[] = {&&first, &&second};
    char *p = malloc(3);
    goto *labels[n & 1];
first:
    free(p);
    return 1;
second:
    free(p);
    return 2;
}

int computed_goto_bad(int n)
{
    static void *const labels[] = {&&first, &&second};
    char *p = malloc(3); // alloc @computed
    if (!p)
        return 0;
    goto *labels[n & 1];
first:
    free(p);
    return 1;
second:
    return 2; // leak @computed: p
}

void assembly_good(void)
{
    char *p = malloc(3);
    __asm__ volatile("" : : "r"(p) : "memory");
}

static void jumps(void)
{
    longjmp(back, 1);
}

void jumped_good(void)
{
    char *volatile p = malloc(3);
    if (setjmp(back) == 0)
        jumps();
    free(p);
}

static void free_all(int count, ...)
{
    va_list list;
    va_start(list, count);
    for (int i = 0; i < count; i++)
        free(va_arg(list, void *));
    va_end(list);
}

void variadic_good(void)
{
    char *a = malloc(1), *b = malloc(2);
    free_all(2, a, b);
}

// A function that calls itself for ever has no exit.
int endless(int n)
{
    char *p = malloc(n);
    if (p)
        p[0] = 0;
    return endless(n + 1);
}

void spins_good(void)
{
    char *p = malloc(3);
    for (;;)
        if (p)
            p[0]++;
}

static int odd_numbers(int n, char *p);

static int even_numbers(int n, char *p)
{
    if (n == 0) {
        free(p);
        return 1;
    }
    return odd_numbers(n - 1, p);
}

static int odd_numbers(int n, char *p)
{
    if (n == 0) {
        free(p);
        return 0;
    }
    return even_numbers(n - 1, p);
}

void mutual_good(void)
{
    even_numbers(10, malloc(3));
}

void statement_expression_bad(void)
{
    int n = ({
        char *p = malloc(3); // alloc @statement
        p ? 1 : 0;
    }); // leak @statement: p
    (void)n;
}

void atomic_good(char **slot)
{
    char *fresh = malloc(3), *expected = NULL;
    if (!fresh)
        return;
    if (!__atomic_compare_exchange_n(slot, &expected, fresh, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
        free(fresh);
}

void exchanged_good(char **slot)
{
    char *old = __atomic_exchange_n(slot, malloc(3), __ATOMIC_SEQ_CST);
    free(old);
}

void thread_local_good(void)
{
    static __thread char *own;
    if (!own)
        own = malloc(3);
}

void builtin_bad(void)
{
    char *p = __builtin_malloc(3); // alloc @builtin
    if (p)
        __builtin_memset(p, 0, 3);
} // leak @builtin: p

void zero_size_good(void)
{
    free(malloc(0));
}

int comma_good(void)
{
    char *p;
    return p = malloc(3), free(p), 1;
}

void ignored_line(void)
{
    char *p = malloc(3); // leakscope: ignore
    (void)p;
}

int main(int count, char **arguments)
{
    char *name = strdup(arguments[0]);
    char *other = strdup("x");
    if (count > 1)
        exit(2);
    (void)name;
    (void)other;
    return 0;
}
