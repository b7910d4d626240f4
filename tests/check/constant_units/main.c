#include <stdlib.h>

extern const int always;
extern int usually;
extern int mode;
int get_level(void);
void set_mode(int value);

void always_good(void)
{
    char *p = malloc(3);
    if (always)
        free(p);
}

void always_bad(void)
{
    char *p = malloc(3); // alloc @always
    if (!always)
        free(p);
} // leak @always: p

void usually_good(void)
{
    char *p = malloc(3);
    if (usually == 1)
        free(p);
}

void usually_bad(void)
{
    char *p = malloc(3); // alloc @usually
    if (usually != 1)
        free(p);
} // leak @usually: p

void level_good(void)
{
    char *p = malloc(3);
    if (get_level() > 2)
        free(p);
}

void level_bad(void)
{
    char *p = malloc(3); // alloc @level
    if (get_level() > 3)
        free(p);
} // leak @level: p

void mode_bad(void)
{
    char *p = malloc(3); // alloc @mode
    if (mode)
        free(p);
} // leak @mode: p

void mode_set_good(void)
{
    char *p = malloc(3);
    set_mode(1);
    if (mode)
        free(p);
}

int main(void)
{
    always_good();
    always_bad();
    usually_good();
    usually_bad();
    level_good();
    level_bad();
    mode_bad();
    mode_set_good();
    return 0;
}
