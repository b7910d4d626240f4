// What the source says of its own functions in attributes.
#include <stddef.h>

void give(void *p) __attribute__((ownership_takes(malloc, 1)));
void *get(size_t size) __attribute__((ownership_returns(malloc)));
void keep(void *p) __attribute__((ownership_holds(malloc, 1)));
void stop(int code) __attribute__((noreturn));
void *sure(size_t size) __attribute__((ownership_returns(malloc), returns_nonnull));

void taken_good(void)
{
    void *p = get(3);
    give(p);
}

void held_good(void)
{
    void *p = get(3);
    keep(p);
}

int returned_bad(int flag)
{
    void *p = get(3); // alloc @returned
    if (!p)
        return -1;
    if (flag)
        return -1; // leak @returned: p
    give(p);
    return 0;
}

void stopped_good(int flag)
{
    void *p = get(3);
    if (flag)
        stop(1);
    give(p);
}

int nonnull_good(void)
{
    void *p = sure(3);
    if (!p)
        return -1;
    give(p);
    return 0;
}
